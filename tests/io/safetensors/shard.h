#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "io/checkpoint.h"

namespace penstock::io {

// The checkpoint that is part of the tree.
inline constexpr const char* kTiny = PENSTOCK_SOURCE_DIR "/models/k3/tiny";

// A directory that is there for the length of a test.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string pattern = ::testing::TempDir() + "penstock-XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~ScratchDirectory() { std::filesystem::remove_all(path_); }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string File(std::string_view name) const { return path_ + "/" + std::string(name); }
  void Write(std::string_view name, std::string_view bytes) const {
    std::ofstream(File(name), std::ios::binary) << bytes;
  }

 private:
  std::string path_;
};

// The bytes of a safetensors file: length, JSON, data.
inline std::string ShardBytes(std::string_view json, std::string_view data) {
  const uint64_t length = json.size();
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  return bytes.append(json).append(data);
}

// A file of byte tensors of 4 elements each, in that order.
inline std::string ByteShard(const std::vector<std::string>& names, char fill = 'x') {
  std::string json = "{";
  for (size_t i = 0; i < names.size(); ++i) {
    json += (i ? "," : "") + ("\"" + names[i]) + R"(":{"dtype":"U8","shape":[4],"data_offsets":[)" +
            std::to_string(4 * i) + "," + std::to_string(4 * i + 4) + "]}";
  }
  return ShardBytes(json + "}", std::string(4 * names.size(), fill));
}

// An index of (tensor, file) pairs.
inline std::string IndexText(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::string json = R"({"metadata":{"total_size":1},"weight_map":{)";
  for (size_t i = 0; i < pairs.size(); ++i) {
    json += (i ? ",\"" : "\"") + pairs[i].first + "\":\"" + pairs[i].second + "\"";
  }
  return json + "}}";
}

// Expects a refusal whose message names every one of `parts`.
template <class T>
void ExpectRefused(const Result<T>& result, const std::vector<std::string>& parts) {
  ASSERT_FALSE(result.has_value()) << "expected a refusal that names " << parts.front();
  EXPECT_EQ(result.error().code, ErrorCode::kRefused) << result.error().message;
  for (const std::string& part : parts) {
    EXPECT_NE(result.error().message.find(part), std::string::npos)
        << "'" << part << "' is not in: " << result.error().message;
  }
  EXPECT_EQ(result.error().message.find('\n'), std::string::npos) << result.error().message;
}

}  // namespace penstock::io
