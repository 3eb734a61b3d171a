#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "io/reader.h"

namespace penstock::io {

// How long reads took, from when they were asked for to the completion of their last piece. Buckets
// grow by a quarter of a power of two: bucket b holds times below 2^((b + 1) / 4) microseconds.
struct LatencyHistogram {
  static constexpr size_t kBuckets = 112;
  std::array<uint64_t, kBuckets> counts{};

  void Add(uint64_t ns);
  uint64_t total() const;
  // Upper edge of the bucket that holds the q-th part of all times (0 < q <= 1), in ns; 0 for none.
  uint64_t Percentile(double q) const;
};

// What one device has done since the Reader was made: subtract two of them for a step. Times are of
// the wall. Depth is integrated over time, so that a mean needs no sampling.
struct DeviceStats {
  std::string name;            // "nvme0n1", or "device 0" where the kernel names none.
  uint64_t window_bytes = 0;   // W: what the classes below demanded may have submitted.
  uint64_t payload_bytes = 0;  // As in ReaderCounters.
  uint64_t device_bytes = 0;
  uint64_t reads = 0;
  uint64_t busy_ns = 0;          // At least one read was submitted and not complete.
  uint64_t full_ns = 0;          // At least W bytes were: the device had all that it can use.
  uint64_t depth_bytes_ns = 0;   // Submitted bytes, integrated over time, in KiB * us.
  uint64_t in_flight_bytes = 0;  // Now.
  uint64_t in_flight_reads = 0;
  std::array<LatencyHistogram, 3> latency;  // By ReadClass at the time it was asked for.
};

// One read of the engine, for traces. `queued_ns` is when the Reader was asked.
struct ReadSpan {
  uint32_t device = 0;
  FileId file = 0;
  uint32_t tag = 0;
  ReadClass read_class = ReadClass::kDemanded;
  uint64_t bytes = 0;
  uint64_t queued_ns = 0;
  uint64_t submitted_ns = 0;
  uint64_t completed_ns = 0;
  uint64_t in_flight_bytes = 0;  // On the device, when this one had completed.
};
// Called for every completed read, on the thread that completed it, under the reader's lock: it must
// be short and must not call the reader.
using ReadObserver = std::function<void(const ReadSpan&)>;

}  // namespace penstock::io
