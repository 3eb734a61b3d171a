#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "io/engines/engine.h"
#include "runtime/size.h"

namespace penstock::io {

// A slower device in front of any engine: it serves one read after the other at `rate`, and each
// completes `latency` later than its last byte. A single read of b bytes takes latency + b / rate;
// many together bring `rate` bytes a second.
struct Pace {
  uint64_t bytes_per_second = 0;
  Duration latency;
};

// "3G" or "500M,100us"; "" is a Pace of zero, which is never applied.
Result<Pace> ParsePace(std::string_view text);

Result<std::unique_ptr<Engine>> MakePacedEngine(std::unique_ptr<Engine> inner, const Pace& pace,
                                                const CpuSet& cpus);

}  // namespace penstock::io
