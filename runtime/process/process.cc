#include "runtime/process/process.h"

#include <string>

#include "runtime/machine/proc_text.h"
#include "runtime/size.h"
#include "runtime/small_file.h"

namespace penstock {

Result<ProcessMemory> ReadProcessMemory() {
  PENSTOCK_TRY(const std::string status, ReadSmallFile("/proc/self/status"));
  const auto rss = NumberAfter(status, "VmRSS:");
  const auto peak = NumberAfter(status, "VmHWM:");
  if (!rss || !peak) return Failed("/proc/self/status has no VmRSS and VmHWM");
  return ProcessMemory{.rss_bytes = *rss * kKiB, .peak_rss_bytes = *peak * kKiB};
}

Result<uint64_t> ReadProcessReadBytes() {
  PENSTOCK_TRY(const std::string io, ReadSmallFile("/proc/self/io"));
  const auto bytes = NumberAfter(io, "read_bytes:");
  if (!bytes) return Failed("/proc/self/io has no read_bytes");
  return *bytes;
}

}  // namespace penstock
