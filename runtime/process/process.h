#pragma once

#include <cstdint>

#include "runtime/result.h"

namespace penstock {

// What this process holds in memory, by the kernel's account (VmRSS, VmHWM), in bytes.
struct ProcessMemory {
  uint64_t rss_bytes = 0;
  uint64_t peak_rss_bytes = 0;
};
Result<ProcessMemory> ReadProcessMemory();

// Bytes this process caused to be read from storage (read_bytes of /proc/self/io): page-cache
// misses and direct reads, not what the page cache served.
Result<uint64_t> ReadProcessReadBytes();

}  // namespace penstock
