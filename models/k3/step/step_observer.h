#pragma once

#include <cstdint>

#include "graph/observer.h"
#include "io/device_stats.h"

namespace penstock::k3 {

struct StepStats;

// Is told of what happens in and below the graph of a step, as it happens; does nothing unless
// overridden. Threads: all of them at once; StepBegins and StepEnded on the caller's, between steps.
class StepObserver : public graph::Observer {
 public:
  virtual void StepBegins(uint64_t /*n*/) {}
  virtual void StepEnded(const StepStats& /*stats*/) {}

  // Of a body: the layer (group), the extent (part) and the index of the expert among those chosen (item), where its
  // message says them.
  void Begins(const graph::NodeFacts& /*node*/, graph::Subject* /*subject*/) override {}
  void Ended(const graph::NodeFacts& /*node*/, const graph::Subject& /*subject*/,
             uint64_t /*start_ns*/, uint64_t /*end_ns*/) override {}

  // A stripe was decoded by a worker of the decode arena.
  virtual void Decoded(uint32_t /*extent*/, uint64_t /*start_ns*/, uint64_t /*end_ns*/) {}
  // A read has completed. Under the reader's lock: short, and no call of the reader.
  virtual void Read(const io::ReadSpan& /*read*/) {}
};

}  // namespace penstock::k3
