#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "io/device_stats.h"
#include "runtime/measure/span_log.h"

namespace penstock::k3 {

// The read that took the device longest, from submission to completion.
struct SlowRead {
  uint64_t ns = 0;
  uint32_t device = 0;
  uint32_t tag = io::kNoTag;  // Its layer.
  io::ReadClass read_class = io::ReadClass::kDemanded;
  uint64_t usual_ns = 0;  // Half of the reads of its class took at most this; 0: too few to tell.
};

// When the devices had reads in flight, put together from the reads that completed. A device that
// still had some when a read completed had them until the next completion; one that had none began
// again when the read was submitted that completes next.
// Threads: Observe on any, one at a time; Take on one.
class DeviceWatch {
 public:
  DeviceWatch() = default;
  // The number of devices, before the first Observe. Allocates.
  void Reset(size_t devices);

  void Observe(const io::ReadSpan& read);

  // A step begins: what reads took before it is not told.
  void Begin(uint64_t now_ns);

  // Appends the times up to `now_ns` with reads submitted, and with reads asked for before any was.
  // The lists of several devices follow each other. `busy_ns[i]`: how long device i is known to have
  // been busy since `begin_ns` (DeviceStats::busy_ns); what no completed read accounts for was of
  // reads that are still in flight.
  // Gives the read that took longest since Begin, from its submission or from there on.
  SlowRead Take(uint64_t begin_ns, uint64_t now_ns, std::span<const uint64_t> busy_ns,
                std::vector<TimeSpan>* reading, std::vector<TimeSpan>* asked);

 private:
  struct Device {
    std::vector<TimeSpan> busy;   // The last one is open while reads are in flight.
    std::vector<TimeSpan> asked;  // Until the begin of a busy one.
    bool open = false;
    uint64_t taken_ns = 0;  // Of the last Take: nothing before it is told again.
  };
  void Begin(Device& device, const io::ReadSpan& read);
  static void Complete(Device& device, uint64_t begin_ns, uint64_t now_ns, uint64_t busy_ns);

  std::mutex mutex_;
  std::vector<Device> devices_;
  uint64_t begin_ns_ = 0;
  SlowRead slowest_;
  std::array<io::LatencyHistogram, 3> taken_;  // By class, of all devices.
};

}  // namespace penstock::k3
