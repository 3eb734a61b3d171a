#include "runtime/measure/clock.h"

#include <time.h>

namespace penstock {

uint64_t NowNs(Clock clock) {
  constexpr clockid_t kIds[] = {CLOCK_THREAD_CPUTIME_ID, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID};
  timespec now{};
  ::clock_gettime(kIds[static_cast<uint8_t>(clock)], &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

CpuTime BusyLoop(Duration wall) {
  const uint64_t cpu_start = NowNs(Clock::kThreadCpu), start = NowNs(Clock::kWall);
  uint64_t now = start;
  while (now - start < wall.ns) now = NowNs(Clock::kWall);
  return {now - start, NowNs(Clock::kThreadCpu) - cpu_start};
}

double LostShare(CpuTime busy) {
  if (busy.wall_ns == 0 || busy.cpu_ns >= busy.wall_ns) return 0;
  return 1 - static_cast<double>(busy.cpu_ns) / static_cast<double>(busy.wall_ns);
}

}  // namespace penstock
