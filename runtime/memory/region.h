#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "runtime/memory/buffer.h"
#include "runtime/result.h"

namespace penstock {

inline constexpr size_t kHugePageBytes = size_t{2} << 20;

// Anonymous zeroed memory at a 2 MiB boundary that asks for 2 MiB pages: a device that reads into
// scattered 4 KiB pages was 2.4-4.3 times slower. Only whole 2 MiB blocks ask for them, so that
// what is resident never exceeds the size that was asked for. An inaccessible page on either side
// turns an overrun into a fault. Unmapped by the destructor.
// Threads: none of its own; the bytes are the caller's to synchronise.
class HugeRegion {
 public:
  // Reserves address space; pages come when touched. Fails with the kernel's reason.
  static Result<HugeRegion> Map(size_t bytes);

  HugeRegion() = default;
  ~HugeRegion();
  HugeRegion(HugeRegion&& other) noexcept;
  HugeRegion& operator=(HugeRegion&& other) noexcept;
  HugeRegion(const HugeRegion&) = delete;
  HugeRegion& operator=(const HugeRegion&) = delete;

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

  // Makes every page resident now. Overwrites nothing that was written before.
  void Touch();
  // The same by several threads. go_on: called on this thread with the bytes done so far, every
  // 64 MiB of its own; false ends it early, and then so does this.
  bool Touch(size_t threads, const std::function<bool(uint64_t)>& go_on);

  // Bytes of it that are backed by huge pages at this moment, as /proc/self/smaps tells it; 0 when
  // that cannot be read. Walks the process's mappings: for start-up, not for a loop.
  size_t HugeBytes() const;

 private:
  void TouchPart(size_t begin, size_t end);
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  std::byte* mapping_ = nullptr;  // With the alignment's slack and the guard pages.
  size_t mapping_bytes_ = 0;
};

// A buffer in a region of its own, which goes back to the kernel with the last reference.
Result<MutableBuffer> AllocateBuffer(size_t bytes);

}  // namespace penstock
