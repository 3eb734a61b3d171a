#include "models/k3/step/device_watch.h"

#include <algorithm>
#include <utility>

namespace penstock::k3 {
namespace {

constexpr uint64_t kLeastReads = 4;  // Before it can be said what is usual.
constexpr size_t kSpans = 4096;      // A device; more of them in one step run together.

uint64_t Overlap(const TimeSpan& span, uint64_t begin, uint64_t end) {
  const uint64_t from = std::max(span.begin_ns, begin);
  const uint64_t to = std::min(span.end_ns, end);
  return to > from ? to - from : 0;
}

void Append(std::vector<TimeSpan>* spans, uint64_t begin, uint64_t end) {
  if (end > begin) spans->push_back({begin, end, 0});
}

}  // namespace

void DeviceWatch::Reset(size_t devices) {
  const std::lock_guard lock(mutex_);
  devices_.assign(devices, {});
  for (Device& device : devices_) {
    device.busy.reserve(kSpans);
    device.asked.reserve(kSpans);
  }
}

void DeviceWatch::Observe(const io::ReadSpan& read) {
  const std::lock_guard lock(mutex_);
  if (read.device >= devices_.size()) return;
  Device& device = devices_[read.device];
  if (!device.open) Begin(device, read);
  TimeSpan& busy = device.busy.back();
  const size_t spans = device.busy.size();
  const uint64_t earliest =
      spans > 1 ? std::max(device.taken_ns, device.busy[spans - 2].end_ns) : device.taken_ns;
  busy.begin_ns = std::min(busy.begin_ns, std::max(read.submitted_ns, earliest));
  busy.end_ns = std::max(busy.end_ns, read.completed_ns);
  device.open = read.in_flight_bytes > 0;
  const uint64_t from = std::max(read.submitted_ns, begin_ns_);
  if (read.completed_ns <= from) return;
  const uint64_t ns = read.completed_ns - from;
  taken_[static_cast<size_t>(read.read_class)].Add(ns);
  if (ns > slowest_.ns) slowest_ = {ns, read.device, read.tag, read.read_class, 0};
}

void DeviceWatch::Begin(uint64_t now_ns) {
  const std::lock_guard lock(mutex_);
  begin_ns_ = now_ns;
  slowest_ = {};
  taken_ = {};
}

void DeviceWatch::Begin(Device& device, const io::ReadSpan& read) {
  const uint64_t last = device.busy.empty() ? device.taken_ns : device.busy.back().end_ns;
  const bool goes_on = !device.busy.empty() && read.submitted_ns <= last;
  if (goes_on || device.busy.size() == kSpans) return;
  const uint64_t begin = std::max(read.submitted_ns, last);
  Append(&device.asked, std::max(read.queued_ns, last), begin);
  device.busy.push_back({begin, begin, 0});
}

// What no completed read accounts for is of reads that are still in flight.
void DeviceWatch::Complete(Device& device, uint64_t begin_ns, uint64_t now_ns, uint64_t busy_ns) {
  uint64_t known = 0;
  for (const TimeSpan& span : device.busy) known += Overlap(span, begin_ns, now_ns);
  if (busy_ns <= known) return;
  const uint64_t missing = busy_ns - known;
  if (!device.open) {
    const uint64_t last = device.busy.empty() ? device.taken_ns : device.busy.back().end_ns;
    return Append(&device.busy, std::max(last, now_ns - std::min(now_ns, missing)), now_ns);
  }
  const size_t spans = device.busy.size();
  const uint64_t last = spans > 1 ? device.busy[spans - 2].end_ns : device.taken_ns;
  TimeSpan& open = device.busy.back();
  open.begin_ns = std::max(last, open.begin_ns - std::min(open.begin_ns, missing));
}

SlowRead DeviceWatch::Take(uint64_t begin_ns, uint64_t now_ns, std::span<const uint64_t> busy_ns,
                           std::vector<TimeSpan>* reading, std::vector<TimeSpan>* asked) {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < devices_.size(); ++i) {
    Device& device = devices_[i];
    if (device.open) device.busy.back().end_ns = std::max(device.busy.back().end_ns, now_ns);
    if (i < busy_ns.size()) Complete(device, begin_ns, now_ns, busy_ns[i]);
    reading->insert(reading->end(), device.busy.begin(), device.busy.end());
    asked->insert(asked->end(), device.asked.begin(), device.asked.end());
    device.busy.clear();
    device.asked.clear();
    device.taken_ns = now_ns;
    if (device.open) device.busy.push_back({now_ns, now_ns, 0});
  }
  const io::LatencyHistogram& taken = taken_[static_cast<size_t>(slowest_.read_class)];
  if (taken.total() >= kLeastReads) slowest_.usual_ns = taken.Percentile(0.5);
  return std::exchange(slowest_, {});
}

}  // namespace penstock::k3
