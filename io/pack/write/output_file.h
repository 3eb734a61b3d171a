#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/result.h"

namespace penstock::io {

// A file that is written at known offsets, through short writes and interruptions. Move-only; closes
// itself. Errors are kFailed with the errno. Threads: one.
class OutputFile {
 public:
  // Opens the file, or makes it empty when there is none.
  static Result<OutputFile> Open(const std::string& path);
  // Opens it as Open does and holds it (flock) until it is closed or the process ends, however it
  // ends. What is held is the file that has the name now: one that another holder has renamed or
  // removed meanwhile is not taken for it. An error with EWOULDBLOCK where it is held already, also
  // by this process.
  static Result<OutputFile> OpenHeld(const std::string& path);
  OutputFile() = default;
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  ~OutputFile();

  const std::string& path() const { return path_; }
  Status WriteAt(uint64_t offset, std::span<const std::byte> bytes);
  Status WriteAt(uint64_t offset, std::string_view text);
  Status Truncate(uint64_t bytes);
  // Returns when all data, and the size, has reached the device.
  Status Sync();
  // Tells the kernel that the range will not be read soon, so that it does not crowd out what will.
  void DropCache(uint64_t offset, uint64_t bytes);

 private:
  bool HasItsName() const;
  Error Problem(std::string_view what, int error) const;

  int fd_ = -1;
  std::string path_;
};

// Gives a file its final name, in place of whatever had it.
Status RenameFile(const std::string& from, const std::string& to);

}  // namespace penstock::io
