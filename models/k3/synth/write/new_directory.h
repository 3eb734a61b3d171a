#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/result.h"

namespace penstock::k3 {

// A directory that appears whole or not at all: files are written under temporary names and get
// their own at Commit(). Without it, everything written is removed again, and the directory too
// when it was made here. Threads: one.
class NewDirectory {
 public:
  // Makes `path` (and what leads to it) or takes it as it is when it is empty; refuses any other.
  static Result<NewDirectory> Make(const std::string& path);

  NewDirectory(NewDirectory&& other) noexcept;
  NewDirectory& operator=(NewDirectory&&) = delete;
  NewDirectory(const NewDirectory&) = delete;
  ~NewDirectory();

  // Bytes that an unprivileged user may still write there.
  Result<uint64_t> FreeBytes() const;

  // Begins the file `name` and reserves `bytes` for it where the file system can, so that a full
  // disk shows before anything is written and the file lies in few pieces.
  Status Begin(const std::string& name, uint64_t bytes);
  // The same for a file that is written past the page cache where the file system can: memory at
  // multiples of kDirect, and so many bytes a Write except for the last one.
  Status BeginDirect(const std::string& name, uint64_t bytes);
  static constexpr size_t kDirect = 4096;
  Status Write(std::span<const std::byte> bytes);
  Status Write(std::string_view text);
  Status End();

  Status Commit();

 private:
  explicit NewDirectory(std::string path) : path_(std::move(path)) {}
  std::string Path(const std::string& name) const { return path_ + "/" + name; }
  std::string Temporary(const std::string& name) const { return Path(name) + ".partial"; }
  Error Problem(const char* what, int error) const;
  void Remove();
  Status WriteAll(std::span<const std::byte> bytes);
  bool LeaveDirect();  // True when the file was written past the page cache until now.

  std::string path_;
  bool made_ = false;
  bool committed_ = false;
  int fd_ = -1;
  bool direct_ = false;             // The open file bypasses the page cache.
  std::vector<std::string> names_;  // Written so far; the last one may be open.
};

}  // namespace penstock::k3
