#include "models/k3/step/figures.h"

#include <algorithm>

namespace penstock::k3 {
namespace {

void AddDevice(const io::DeviceStats& step, io::DeviceStats* sum) {
  sum->name = step.name;
  sum->window_bytes = step.window_bytes;
  sum->payload_bytes += step.payload_bytes;
  sum->device_bytes += step.device_bytes;
  sum->reads += step.reads;
  sum->busy_ns += step.busy_ns;
  sum->full_ns += step.full_ns;
  sum->depth_bytes_ns += step.depth_bytes_ns;
  for (size_t c = 0; c < sum->latency.size(); ++c) {
    for (size_t b = 0; b < sum->latency[c].counts.size(); ++b) {
      sum->latency[c].counts[b] += step.latency[c].counts[b];
    }
  }
}

void AddNode(const NodeUse& step, NodeUse* sum) {
  sum->name = step.name;
  sum->serial = step.serial;
  sum->arithmetic = step.arithmetic;
  sum->messages += step.messages;
  sum->busy_ns += step.busy_ns;
  sum->longest_ns = std::max(sum->longest_ns, step.longest_ns);
}

}  // namespace

uint64_t Figures::compute_busy_ns() const { return of(Cause::kCompute) + of(Cause::kDecode); }

const io::DeviceStats* Figures::busiest() const {
  const auto found = std::max_element(
      devices.begin(), devices.end(),
      [](const io::DeviceStats& a, const io::DeviceStats& b) { return a.busy_ns < b.busy_ns; });
  return found == devices.end() ? nullptr : &*found;
}

const io::DeviceStats* Figures::fullest() const {
  const auto found = std::max_element(
      devices.begin(), devices.end(),
      [](const io::DeviceStats& a, const io::DeviceStats& b) { return a.full_ns < b.full_ns; });
  return found == devices.end() ? nullptr : &*found;
}

double Figures::overlap() const {
  if (wall_ns == 0) return 0;
  const io::DeviceStats* device = busiest();
  const uint64_t busy = std::max(compute_busy_ns(), device == nullptr ? 0 : device->busy_ns);
  return std::min(1.0, static_cast<double>(busy) / static_cast<double>(wall_ns));
}

void Figures::Add(const Figures& step) {
  steps += step.steps;
  wall_ns += step.wall_ns;
  for (size_t i = 0; i < kCauses; ++i) causes[i] += step.causes[i];
  threads = std::max(threads, step.threads);
  body_ns += step.body_ns;
  if (devices.size() < step.devices.size()) devices.resize(step.devices.size());
  for (size_t i = 0; i < step.devices.size(); ++i) AddDevice(step.devices[i], &devices[i]);
  slowest_ns += step.slowest_ns;
  if (step.slowest.ns > slowest.ns) slowest = step.slowest;
  if (nodes.size() < step.nodes.size()) nodes.resize(step.nodes.size());
  for (size_t i = 0; i < step.nodes.size(); ++i) AddNode(step.nodes[i], &nodes[i]);
  ring_stops += step.ring_stops;
  depth_stops += step.depth_stops;
  expert_hits += step.expert_hits;
  expert_misses += step.expert_misses;
}

}  // namespace penstock::k3
