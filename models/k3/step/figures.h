#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "io/device_stats.h"
#include "models/k3/step/causes.h"
#include "models/k3/step/device_watch.h"

namespace penstock::k3 {

// What a node of the graph did. The body that ends a step is counted when it has returned, which
// may be in the next one.
struct NodeUse {
  std::string name;
  bool serial = false;      // One body at a time.
  bool arithmetic = false;  // Counts as busy (models/k3/step/causes.h).
  uint64_t messages = 0;
  uint64_t busy_ns = 0;     // Of all threads.
  uint64_t longest_ns = 0;  // Of one body.
};

// What a verdict is made of, of one step or of several together: totals, to be divided by `wall_ns`.
struct Figures {
  uint64_t steps = 0;
  uint64_t wall_ns = 0;
  Causes causes{};
  size_t threads = 0;                    // That may compute.
  uint64_t body_ns = 0;                  // Of all threads, in bodies that do arithmetic.
  std::vector<io::DeviceStats> devices;  // As differences.
  SlowRead slowest;
  uint64_t slowest_ns = 0;  // Of the slowest read of each step, summed.
  std::vector<NodeUse> nodes;
  uint64_t ring_stops = 0;
  uint64_t depth_stops = 0;
  uint64_t expert_hits = 0;
  uint64_t expert_misses = 0;

  uint64_t of(Cause cause) const { return causes[static_cast<size_t>(cause)]; }
  // At least one body did arithmetic.
  uint64_t compute_busy_ns() const;
  // The device that had reads in flight for longest; null without one.
  const io::DeviceStats* busiest() const;
  // The one that had all that its window allows for longest.
  const io::DeviceStats* fullest() const;
  // The larger of device busy and compute busy, over the wall: 1 when the busier of the two never
  // waited for the other. 0 before the first step.
  double overlap() const;

  void Add(const Figures& step);
};

}  // namespace penstock::k3
