#pragma once

#include <cstdint>
#include <string>

#include "io/device_stats.h"
#include "io/queue/window.h"

namespace penstock::io {

// Keeps the DeviceStats of one device. Pure arithmetic: whoever calls has looked at the clock
// (NowNs(Clock::kWall)), once for a batch. A time before the last one counts as that.
// Threads: none; the caller serialises.
class DeviceMeter {
 public:
  DeviceMeter(std::string name, const Window& window, uint64_t now_ns);

  // The first read of a request of so many bytes goes to the device.
  void Start(uint64_t payload_bytes) { stats_.payload_bytes += payload_bytes; }
  void Submit(uint64_t now_ns, uint64_t bytes);
  // A submitted read has come back for good.
  void Complete(uint64_t now_ns, uint64_t bytes);
  // Whether the window keeps a read from the device from now on.
  void Hold(uint64_t now_ns, bool held);
  void AddLatency(ReadClass read_class, uint64_t ns);

  uint64_t in_flight_bytes() const { return stats_.in_flight_bytes; }
  void AddTo(ReaderCounters* counters) const;
  // With the time until now.
  DeviceStats At(uint64_t now_ns) const;

 private:
  void Advance(uint64_t now_ns);

  DeviceStats stats_;
  // In bytes * ns. 64 bits hold 40 minutes of 8 MiB.
  unsigned __int128 depth_ = 0;
  uint64_t last_ns_;
  bool held_ = false;
};

}  // namespace penstock::io
