#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/result.h"
#include "runtime/size.h"

namespace penstock::io {

struct DemandOptions {
  std::string pace = "2G";
  ByteSize bs{4 * kMiB};
  uint64_t iodepth = 0;
  uint64_t demanded_bytes = 17'547'264;  // Three matrices of 3072 x 3584 in MXFP4.
  uint64_t demands = 500;
  uint64_t seed = 1;
  // Asked before each demand; false ends it with kCancelled.
  std::function<bool(uint64_t done, uint64_t total)> go_on;
};

// What demanded reads took while the trunk kept a paced device busy.
struct DemandLatency {
  uint64_t window_bytes = 0;
  uint64_t bytes_per_second = 0;
  double bound_ns = 0;       // (W + demanded bytes) / rate.
  std::vector<uint64_t> ns;  // From Read to `done`, sorted.
  double device_share = 0;   // Of the rate that the device brought meanwhile.

  double cpu_lost = 0;  // The share of a CPU that neighbours took meanwhile (LostShare).

  double PercentileNs(double q) const;
};

// Reads from memory through --ioengine memory and --pace, so that the device is known exactly and
// needs no file: the trunk queues more than W without end, and one read at a time is demanded at
// random moments. The body of benchmarks of the Reader; by the wall, so it takes
// demands x (bound + 10 ms).
Result<DemandLatency> MeasureDemandLatency(const DemandOptions& options);

}  // namespace penstock::io
