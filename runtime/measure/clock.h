#pragma once

#include <cstdint>

#include "runtime/size.h"

namespace penstock {

// Which time a measurement counts: that of the calling thread on a CPU, which neighbours on the
// machine lengthen only by what they take from caches and memory, or that of the wall, which is the
// only one for work of several threads together.
enum class Clock : uint8_t { kThreadCpu, kWall, kProcessCpu };

// Nanoseconds of a clock that never goes back; only differences mean something.
uint64_t NowNs(Clock clock);

// The same span of time by both clocks.
struct CpuTime {
  uint64_t wall_ns = 0;
  uint64_t cpu_ns = 0;
};

// Keeps the calling thread busy for so long by the wall.
CpuTime BusyLoop(Duration wall);

// The share of the time, 0 to 1, in which a thread that never waits did not run: what others took.
double LostShare(CpuTime busy);

}  // namespace penstock
