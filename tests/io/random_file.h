#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace penstock::io {

// A file of random bytes, removed at the end. `folder` must exist.
class RandomFile {
 public:
  RandomFile(size_t bytes, uint64_t seed, const std::string& folder = ::testing::TempDir()) {
    std::mt19937_64 random(seed);
    content_.resize(bytes);
    for (size_t at = 0; at < bytes; at += 8) {
      const uint64_t word = random();
      std::memcpy(content_.data() + at, &word, std::min<size_t>(8, bytes - at));
    }
    std::string name = folder + "/penstock_io_XXXXXX";
    const int fd = mkstemp(name.data());
    EXPECT_GE(fd, 0) << name;
    close(fd);
    path_ = name;
    std::ofstream(path_, std::ios::binary)
        .write(content_.data(), static_cast<std::streamsize>(content_.size()));
  }
  ~RandomFile() { unlink(path_.c_str()); }
  RandomFile(const RandomFile&) = delete;
  RandomFile& operator=(const RandomFile&) = delete;

  const std::string& path() const { return path_; }
  size_t size() const { return content_.size(); }

  // Whether `data` holds the file's bytes from `offset` on.
  bool Holds(const std::byte* data, uint64_t offset, uint64_t bytes) const {
    return offset + bytes <= content_.size() &&
           (bytes == 0 || std::memcmp(data, content_.data() + offset, bytes) == 0);
  }

 private:
  std::string path_;
  std::vector<char> content_;
};

}  // namespace penstock::io
