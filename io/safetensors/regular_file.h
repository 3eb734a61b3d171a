#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "runtime/result.h"

namespace penstock::io {

// A regular file open for buffered reading: headers, indexes and small text. Weights go through
// io::Reader. Move-only; closes itself. Threads: ReadAt may be called from several at once.
class RegularFile {
 public:
  // kRefused when there is no such file or it is no regular file (a directory, a pipe, a device:
  // none of them is opened for reading, so that a pipe cannot block). Symbolic links are followed:
  // download caches are made of them, and a link is put there by the owner of the directory.
  static Result<RegularFile> Open(const std::string& path);

  RegularFile(RegularFile&& other) noexcept;
  RegularFile& operator=(RegularFile&& other) noexcept;
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;
  ~RegularFile();

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }  // In bytes, when it was opened.

  // Fills `into` from `offset`; kFailed when the device fails or the file ends before.
  Status ReadAt(uint64_t offset, std::span<char> into) const;

 private:
  RegularFile(int fd, uint64_t size, std::string path)
      : fd_(fd), size_(size), path_(std::move(path)) {}

  int fd_ = -1;
  uint64_t size_ = 0;
  std::string path_;
};

// The whole of a small file. kRefused when it is larger than `max_bytes`.
Result<std::string> ReadWholeFile(const std::string& path, uint64_t max_bytes);

}  // namespace penstock::io
