#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/k3/config/shape.h"
#include "models/k3/layers/activations.h"
#include "models/k3/layers/flow.h"
#include "models/k3/state/state.h"
#include "models/k3/weights/resident.h"
#include "ops/kernels/kernels.h"
#include "runtime/memory/buffer.h"

namespace penstock::k3 {

struct Context;

// Told of every choice of experts, in each layer position by position: context.layer, and rows
// `position` (of the step) of act.chosen and act.router (the scores) are in place. Called on a
// thread of the step, one call at a time; what it reads besides may be the residual stream (acc
// with the attention's output, which y still holds, and the blocks).
class RouteSink {
 public:
  virtual ~RouteSink() = default;
  virtual void Chosen(const Context& context, size_t position) = 0;
};

// An expert that positions of the step have chosen: once, whoever chose it.
struct ChosenExpert {
  uint32_t expert = 0;
  uint32_t first_slot = 0;  // Of act's slots: one for each position that chose it, earliest first.
  uint32_t slots = 0;
};

// What the bodies of a step work on: the fixed parts, and where the step stands. The fields of the
// step and the layer are written between stages only (by the flow, which is serial) and read by the
// bodies that the flow then starts.
struct Context {
  Context(const Shape& shape_in, const ops::Kernels& kernels_in, const Resident& resident_in,
          StateStore& store_in, Activations activations)
      : shape(shape_in),
        kernels(kernels_in),
        resident(resident_in),
        store(store_in),
        act(std::move(activations)) {
    experts.reserve(act.positions * shape.top_k);
    expert_index.assign(shape.experts, kNone);
  }

  const Shape& shape;
  const ops::Kernels& kernels;
  const Resident& resident;
  StateStore& store;
  Activations act;

  // The step.
  uint64_t step = 0;
  uint64_t attempt = 0;  // Counts failed steps too: never the same twice.
  std::shared_ptr<const SequenceState> before;
  std::shared_ptr<StepLog> log;  // What the step adds to it.
  size_t positions = 1;          // Of the step; T.
  size_t first_logits = 0;       // Positions before this one get no logits.
  size_t residual_blocks = 0;    // Finished blocks in act.blocks, of each position.
  bool acc_empty = false;        // A boundary has moved acc into the blocks; y becomes acc.

  // The layer; Shape::layers at the head.
  size_t layer = 0;
  Phase phase = Phase::kAttention;
  size_t kda_ordinal = 0;  // Of this layer among the KDA layers.
  size_t mla_ordinal = 0;
  size_t moe_ordinal = 0;
  KdaVisit kda_visit;                  // What this layer's heads continue, if it is a KDA layer.
  std::vector<ChosenExpert> experts;   // Of all positions, in the order in which they are demanded.
  std::vector<uint32_t> expert_index;  // [E] where in `experts`; scratch of the choice.

  RouteSink* routes = nullptr;  // Null: nobody listens. Set between steps.

  const LayerVectors& vectors() const { return resident.layer(layer); }
};

// "layer 3, step 12": where a step stands, for messages.
inline std::string WhereOf(const Context& context) {
  return "layer " + std::to_string(context.layer) + ", step " + std::to_string(context.step);
}

}  // namespace penstock::k3
