#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/picture.h"
#include "models/k3/step/step_observer.h"
#include "models/k3/weights/pass.h"
#include "runtime/memory/byte_ring.h"
#include "runtime/result.h"
#include "runtime/trace/trace.h"

namespace penstock::k3 {

// The steps that a trace shows, counted from 0; both ends are in it.
struct TraceSteps {
  uint64_t first = 2;
  uint64_t last = 4;

  bool Has(uint64_t n) const { return first <= n && n <= last; }
};

// "3-5" or "3" for a run of at most `steps` steps; "" for steps 2 to 4, or the last ones of a
// shorter run. Refused: anything else, a range that goes backwards or begins behind the run's end.
Result<TraceSteps> ParseTraceSteps(std::string_view text, uint64_t steps);

// What is traced. Borrowed, and outlives the recording.
struct TracedEngine {
  const graph::Picture& picture;
  const Pass& pass;
  const ByteRing& ring;
  std::vector<std::string> devices;
  size_t threads = 1;
  size_t decode_threads = 0;
};

// Records chosen steps: a lane for the steps, one for each thread that computes and each that decodes
// (the slot of the arena, which one thread holds at a time), one or more for each device; counters
// for its bandwidth and its bytes in flight, and for the bytes of the ring in use.
class StepTrace final : public StepObserver {
 public:
  StepTrace(const TracedEngine& engine, TraceSteps steps);

  void StepBegins(uint64_t n) override;
  void StepEnded(const StepStats& stats) override;
  void Ended(const graph::NodeFacts& node, const graph::Subject& subject, uint64_t start_ns,
             uint64_t end_ns) override;
  void Decoded(uint32_t extent, uint64_t start_ns, uint64_t end_ns) override;
  void Read(const io::ReadSpan& read) override;

  const Trace& trace() const { return trace_; }

 private:
  struct Device {
    Trace::Id lane;
    Trace::Id in_flight;
    Trace::Id bandwidth;
    uint64_t millisecond = 0;  // The one that is being counted; guarded by the reader's lock.
    uint64_t bytes = 0;
  };
  void CountBandwidth(Device& device, const io::ReadSpan& read);
  uint32_t LayerOf(uint32_t extent) const;
  bool Has(uint64_t start_ns, uint64_t end_ns) const {
    return end_ns >= begin_ns_.load(std::memory_order_acquire) &&
           start_ns < end_ns_.load(std::memory_order_acquire);
  }

  const Pass& pass_;
  const ByteRing& ring_;
  const TraceSteps steps_;
  // From the begin of the first chosen step to the end of the last one. What a body or a read of a
  // step did may be told after the step has ended: its time decides.
  std::atomic<uint64_t> begin_ns_{~uint64_t{0}};
  std::atomic<uint64_t> end_ns_{~uint64_t{0}};
  uint64_t step_begin_ns_ = 0;
  Trace trace_;
  Trace::Id step_lane_ = 0;
  Trace::Id step_name_ = 0;
  Trace::Id decode_name_ = 0;
  Trace::Id ring_counter_ = 0;
  std::array<Trace::Id, 3> read_names_{};  // By class.
  std::vector<Trace::Id> names_;           // [nodes]
  std::vector<bool> counts_ring_;          // [nodes]
  std::vector<Trace::Id> compute_;         // [slots]
  std::vector<Trace::Id> decode_;
  std::vector<Device> devices_;
};

}  // namespace penstock::k3
