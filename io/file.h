#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/reader.h"
#include "runtime/notice.h"
#include "runtime/result.h"

namespace penstock::io {

// What is known about one open file.
struct File {
  int fd = -1;  // Owned by the FileSet.
  std::string path;
  uint64_t bytes = 0;         // Size when it was opened.
  bool direct = false;        // Reads bypass the page cache.
  uint32_t alignment = 4096;  // Of offsets, lengths and addresses of reads; a power of two.
  uint32_t device = 0;        // Files of one device share a number, counted from 0.
};

enum class DirectMode { kAuto, kNever, kAlways };
Result<DirectMode> ParseDirectMode(std::string_view text);  // "auto", "0", "1"

// Reads `bytes` at offset 0 into `buffer`, both aligned; 0 or the errno. Replaced in tests.
using TestRead = std::function<int(int fd, std::byte* buffer, size_t bytes)>;
int TestReadOf(int fd, std::byte* buffer, size_t bytes);

// The files that extents refer to, open for reading. Extent::file is the index.
//
// O_DIRECT is decided for each file: statx names the alignment (4096 is assumed when it does not),
// then one block is read. A file that fails either is read through the page cache; one line names
// it and the reason (the first of them and how many more, where many share the reason). A tmpfs
// accepts O_DIRECT and has no device behind it: it counts as not direct. Threads: immutable after
// Open.
class FileSet {
 public:
  // Refused: a path that is missing, unreadable or no regular file; with kAlways, also one that
  // cannot be read directly.
  static Result<FileSet> Open(std::span<const std::string> paths, DirectMode mode,
                              const Notice& notice, const TestRead& test_read = TestReadOf);

  FileSet() = default;
  ~FileSet();
  FileSet(FileSet&& other) noexcept;
  FileSet& operator=(FileSet&& other) noexcept;
  FileSet(const FileSet&) = delete;
  FileSet& operator=(const FileSet&) = delete;

  std::span<const File> files() const { return files_; }
  const File& operator[](FileId id) const { return files_[id]; }
  size_t size() const { return files_.size(); }

  size_t Alignment() const;       // Largest of all files; 4096 for an empty set.
  uint32_t device_count() const;  // Different devices behind the files.
  size_t direct_count() const;    // Files that are read directly.

  // The extent's bytes rounded out to its file's alignment: what the device must move.
  uint64_t RoundedBytes(const Extent& extent) const;

 private:
  std::vector<File> files_;
};

}  // namespace penstock::io
