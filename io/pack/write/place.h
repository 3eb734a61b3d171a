#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/notice.h"
#include "runtime/result.h"

namespace penstock::io {

// The directory that a pack is written into, taken by one writer at a time. Move-only; gives it back
// when destroyed, and removes it when it was made here and nothing is in it. Threads: one.
class PackPlace {
 public:
  // Makes the directory, and what leads to it, or takes the one that is there. kRefused: another
  // writer has it, it holds a complete pack, or files that are no part of one. A file system that
  // cannot lock is told to `notice`.
  static Result<PackPlace> Take(const std::string& directory, const Notice& notice);

  PackPlace(PackPlace&& other) noexcept;
  PackPlace& operator=(PackPlace&&) = delete;
  PackPlace(const PackPlace&) = delete;
  ~PackPlace();

  const std::string& directory() const { return directory_; }
  std::string Path(std::string_view name) const;
  // kRefused when the file system has less than `expected` bytes left for stripes.bin, counting what
  // is there of it.
  Status CheckSpace(uint64_t expected) const;
  // Returns when names that were given and removed have reached the device.
  Status Sync() const;

 private:
  explicit PackPlace(std::string directory) : directory_(std::move(directory)) {}
  Status Make();
  Status Lock(const Notice& notice);
  Status CheckEntries() const;

  std::string directory_;
  bool made_ = false;
  int fd_ = -1;
};

}  // namespace penstock::io
