#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace penstock::k3 {

// One step as work for a device and for cores, in order of use. What is simulated, no more: where
// the numbers come from is step_model.h's.
struct StepModel {
  struct Piece {
    uint32_t layer = 0;
    uint64_t read_bytes = 0;  // From the device; 0 when it is in memory.
    uint64_t ring_bytes = 0;  // Held from admission until it is used.
    double compute_ns = 0;    // Of all cores together.
    double serial_ns = 0;     // Work of a stage that must end before this piece can begin.
    // The experts of its layer must have been added before it can begin.
    bool after_experts = false;
    // With the end of this piece the experts of its layer are known and asked for,
    bool chooses_experts = false;
    // and with the end of this one they have their input.
    bool feeds_experts = false;
  };

  std::vector<Piece> pieces;   // Of one step; the next one follows without a gap.
  double chosen_experts = 0;   // Of a layer that has experts,
  double expert_hits = 0;      // and the share of them that the cache has.
  uint64_t expert_bytes = 0;   // That a miss reads.
  double expert_ns = 0;        // One expert on one core,
  double experts_abreast = 1;  // and how many at a time: cores, or what memory feeds.

  double device_rate = 0;        // Bytes a second.
  double device_latency_ns = 0;  // Of a read on an idle device.
  uint64_t window_bytes = 0;     // Submitted at most below demanded reads, and two reads at least.
  uint64_t read_bytes = 0;       // The largest read.
  uint64_t ring_bytes = 0;
  uint64_t depth = 0;        // Layers ahead; 0: no bound.
  uint64_t embed_bytes = 0;  // Read on demand when a step begins.
  double step_ns = 0;        // Between two steps: the choice of a token.
};

enum class StepBound : uint8_t { kDevice, kCompute, kExpertWait };
std::string_view BoundName(StepBound bound);  // "device", "compute", "expert wait"

struct Prediction {
  double ns = 0;  // Of one step in the steady state.
  StepBound bound = StepBound::kDevice;
  double device_ns = 0;       // The device was busy; this and the next one may overlap.
  double compute_ns = 0;      // Cores, or the last of them, were busy.
  double expert_wait_ns = 0;  // The cores waited for an expert,
  double trunk_wait_ns = 0;   // for a piece of the pass,
  double embed_wait_ns = 0;   // for the row of the token.
};

// Replays three steps at the grain of single reads on one device and one pool of cores, and tells
// of the last. Reads go to the device in order of use while the ring has room for their piece and
// the window for them; demanded experts go at once and wait behind what is submitted. A piece is
// computed when it has arrived and the one before it is done; experts as they come, beside the
// pieces that do not need them. No randomness: the same model gives the same answer.
Prediction PredictStep(const StepModel& model);

}  // namespace penstock::k3
