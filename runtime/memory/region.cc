#include "runtime/memory/region.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/mman.h>

#include "runtime/process/system_message.h"
#include "runtime/size.h"

namespace penstock {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE of Linux 5.14; older headers lack it.

Error MapError(size_t bytes, int sys) {
  return Failed(fmt::format("could not map {} bytes of memory: {}", bytes, SystemMessage(sys)),
                sys);
}

// "7f00-7f20 rw-p ..." -> its bounds; false for the other lines of smaps.
bool ParseBounds(std::string_view line, uintptr_t* begin, uintptr_t* end) {
  const char* last = line.data() + line.size();
  const auto first = std::from_chars(line.data(), last, *begin, 16);
  if (first.ec != std::errc() || first.ptr == last || *first.ptr != '-') return false;
  const auto second = std::from_chars(first.ptr + 1, last, *end, 16);
  return second.ec == std::errc() && second.ptr != last && *second.ptr == ' ';
}

constexpr size_t kTouchBytes = size_t{64} << 20;  // Between two questions whether to go on.

}  // namespace

Result<HugeRegion> HugeRegion::Map(size_t bytes) {
  if (bytes > (SIZE_MAX >> 1)) return MapError(bytes, ENOMEM);
  const size_t usable = std::max(RoundUp(bytes, kPageBytes), kPageBytes);
  const size_t reserved = usable + kHugePageBytes + 2 * kPageBytes;
  void* mapping =
      mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return MapError(bytes, errno);
  HugeRegion region;
  region.mapping_ = static_cast<std::byte*>(mapping);
  region.mapping_bytes_ = reserved;
  const auto address = reinterpret_cast<uintptr_t>(mapping);
  region.data_ = region.mapping_ + (RoundUp(address + kPageBytes, kHugePageBytes) - address);
  region.size_ = bytes;
  if (mprotect(region.data_, usable, PROT_READ | PROT_WRITE) != 0) return MapError(bytes, errno);
  const size_t whole = bytes / kHugePageBytes * kHugePageBytes;
  // A kernel without huge pages gives small ones; HugeBytes() tells.
  if (whole > 0) madvise(region.data_, whole, MADV_HUGEPAGE);
  if (usable > whole) madvise(region.data_ + whole, usable - whole, MADV_NOHUGEPAGE);
  return region;
}

HugeRegion::~HugeRegion() {
  if (mapping_ != nullptr) munmap(mapping_, mapping_bytes_);
}

HugeRegion::HugeRegion(HugeRegion&& other) noexcept { *this = std::move(other); }

HugeRegion& HugeRegion::operator=(HugeRegion&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapping_, other.mapping_);
  std::swap(mapping_bytes_, other.mapping_bytes_);
  return *this;
}

void HugeRegion::Touch() { TouchPart(0, size_); }

void HugeRegion::TouchPart(size_t begin, size_t end) {
  if (begin >= end) return;
  if (madvise(data_ + begin, RoundUp(end - begin, kPageBytes), kPopulateWrite) == 0) return;
  for (size_t at = begin; at < end; at += kPageBytes) {
    volatile std::byte* byte = data_ + at;
    *byte = *byte;
  }
}

bool HugeRegion::Touch(size_t threads, const std::function<bool(uint64_t)>& go_on) {
  std::atomic<size_t> next{0};
  std::atomic<uint64_t> done{0};
  std::atomic<bool> stopped{false};
  const auto work = [&](bool tells) {
    for (size_t at = next.fetch_add(kTouchBytes); at < size_ && !stopped;
         at = next.fetch_add(kTouchBytes)) {
      const size_t end = std::min(size_, at + kTouchBytes);
      TouchPart(at, end);
      done += end - at;
      if (tells && !go_on(done)) stopped = true;
    }
  };
  {
    std::vector<std::jthread> others;
    const size_t parts = (size_ + kTouchBytes - 1) / kTouchBytes;
    for (size_t i = 1; i < std::min(threads, parts); ++i) others.emplace_back(work, false);
    work(true);
  }
  return !stopped;
}

size_t HugeRegion::HugeBytes() const {
  std::ifstream smaps("/proc/self/smaps");
  const auto begin = reinterpret_cast<uintptr_t>(data_);
  size_t total = 0;
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    uintptr_t low = 0, high = 0;
    if (ParseBounds(line, &low, &high)) {
      inside = low >= begin && high <= begin + RoundUp(size_, kPageBytes);
    } else if (inside && line.starts_with("AnonHugePages:")) {
      const size_t digit = line.find_first_of("0123456789");
      if (digit != std::string::npos) total += std::stoull(line.substr(digit)) * 1024;
    }
  }
  return total;
}

Result<MutableBuffer> AllocateBuffer(size_t bytes) {
  PENSTOCK_TRY(HugeRegion region, HugeRegion::Map(bytes));
  auto owner = std::make_shared<HugeRegion>(std::move(region));
  std::byte* data = owner->data();
  return MutableBuffer(data, bytes, std::move(owner));
}

}  // namespace penstock
