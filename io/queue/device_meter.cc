#include "io/queue/device_meter.h"

#include <utility>

#include "runtime/check.h"

namespace penstock::io {

DeviceMeter::DeviceMeter(std::string name, const Window& window, uint64_t now_ns)
    : last_ns_(now_ns) {
  stats_.name = std::move(name);
  stats_.window_bytes = window.bytes;
  stats_.bytes_per_second = window.bytes_per_second;
}

void DeviceMeter::Advance(uint64_t now_ns) {
  if (now_ns <= last_ns_) return;
  const uint64_t span = now_ns - std::exchange(last_ns_, now_ns);
  if (stats_.in_flight_reads == 0) return;
  stats_.busy_ns += span;
  if (held_ || stats_.in_flight_bytes >= stats_.window_bytes) stats_.full_ns += span;
  depth_ += static_cast<unsigned __int128>(stats_.in_flight_bytes) * span;
}

void DeviceMeter::Submit(uint64_t now_ns, uint64_t bytes) {
  Advance(now_ns);
  stats_.in_flight_bytes += bytes;
  ++stats_.in_flight_reads;
  stats_.device_bytes += bytes;
  ++stats_.reads;
}

void DeviceMeter::Complete(uint64_t now_ns, uint64_t bytes) {
  PENSTOCK_CHECK(stats_.in_flight_reads > 0 && stats_.in_flight_bytes >= bytes);
  Advance(now_ns);
  stats_.in_flight_bytes -= bytes;
  --stats_.in_flight_reads;
}

void DeviceMeter::Hold(uint64_t now_ns, bool held) {
  if (held == held_) return;
  Advance(now_ns);
  held_ = held;
}

void DeviceMeter::AddLatency(ReadClass read_class, uint64_t ns) {
  stats_.latency[static_cast<size_t>(read_class)].Add(ns);
}

void DeviceMeter::AddTo(ReaderCounters* counters) const {
  counters->payload_bytes += stats_.payload_bytes;
  counters->device_bytes += stats_.device_bytes;
  counters->reads += stats_.reads;
}

DeviceStats DeviceMeter::At(uint64_t now_ns) const {
  DeviceMeter until = *this;
  until.Advance(now_ns);
  until.stats_.depth_bytes_ns = static_cast<uint64_t>(until.depth_ / (1024 * 1000));
  return until.stats_;
}

}  // namespace penstock::io
