#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "io/reader.h"

namespace penstock::io {

// "demanded", "trunk", "predicted".
std::string_view ReadClassName(ReadClass read_class);

// How long reads took, from when they were asked for to the completion of their last piece. Buckets
// grow by a quarter of a power of two: bucket b holds times below 2^((b + 1) / 4) microseconds that no
// lower one holds, the last one also all above (4 minutes).
struct LatencyHistogram {
  static constexpr size_t kBuckets = 112;
  std::array<uint64_t, kBuckets> counts{};

  void Add(uint64_t ns);
  uint64_t total() const;
  // Upper edge of the bucket that holds the q-th part of all times (0 < q <= 1), in ns; 0 for none.
  uint64_t Percentile(double q) const;
  LatencyHistogram Since(const LatencyHistogram& earlier) const;
};

// What one device has done since the Reader was made. Times are of the wall. Depth is integrated over
// time, so that a mean needs no sampling.
struct DeviceStats {
  std::string name;           // "nvme0n1p2", or "device 0" where the kernel names no single one.
  uint64_t window_bytes = 0;  // W: what the classes below demanded may have submitted.
  uint64_t bytes_per_second = 0;  // Of the device alone, measured at start or paced; 0: not known.
  uint64_t payload_bytes = 0;     // As in ReaderCounters, which are the sums over all devices.
  uint64_t device_bytes = 0;
  uint64_t reads = 0;
  uint64_t busy_ns = 0;  // At least one read was submitted and not complete.
  // The device had all that the window allows: W bytes, or a read waits that would exceed them.
  uint64_t full_ns = 0;
  uint64_t depth_bytes_ns = 0;   // Submitted bytes, integrated over time, in KiB * us.
  uint64_t in_flight_bytes = 0;  // Now.
  uint64_t in_flight_reads = 0;
  // By the class that was asked for: from Read to the completion of the last piece, of whole reads.
  std::array<LatencyHistogram, 3> latency;

  // The totals less those of `earlier`, which is of the same device: what happened in between.
  DeviceStats Since(const DeviceStats& earlier) const;
  // Submitted bytes on average over `wall_ns`, the time these totals are of.
  double MeanDepthBytes(uint64_t wall_ns) const;
};

// One read of the engine (a piece of at most --bs of what was asked for), for traces. Times are
// NowNs(Clock::kWall).
struct ReadSpan {
  uint32_t device = 0;
  FileId file = 0;
  uint32_t tag = kNoTag;
  ReadClass read_class = ReadClass::kDemanded;
  uint64_t bytes = 0;         // That arrived: fewer than asked for where it failed.
  uint64_t queued_ns = 0;     // The Reader was asked.
  uint64_t submitted_ns = 0;  // Given to the engine, for the first time where it was repeated.
  uint64_t completed_ns = 0;
  uint64_t in_flight_bytes = 0;  // On the device, when this one had completed.
};
// Called for every read that completed or failed, on the thread that took its completion, under the
// reader's lock: it must be short and must not call the reader.
using ReadObserver = std::function<void(const ReadSpan&)>;

}  // namespace penstock::io
