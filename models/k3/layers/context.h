#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "models/k3/config/shape.h"
#include "models/k3/layers/activations.h"
#include "models/k3/layers/flow.h"
#include "models/k3/state/state.h"
#include "models/k3/weights/resident.h"
#include "ops/kernels/kernels.h"
#include "runtime/memory/buffer.h"

namespace penstock::k3 {

struct Context;

// Told of every choice of experts: context.layer, act.chosen and act.router (the scores) are in
// place. Called on a thread of the step, one call at a time; what it reads besides may be the
// residual stream (acc with the attention's output, which y still holds, and the blocks).
class RouteSink {
 public:
  virtual ~RouteSink() = default;
  virtual void Chosen(const Context& context) = 0;
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
        act(std::move(activations)) {}

  const Shape& shape;
  const ops::Kernels& kernels;
  const Resident& resident;
  StateStore& store;
  Activations act;

  // The step.
  uint64_t step = 0;
  uint64_t attempt = 0;  // Counts failed steps too: never the same twice.
  std::shared_ptr<const SequenceState> before;
  std::shared_ptr<SequenceState> next;
  size_t residual_blocks = 0;  // Finished blocks in act.blocks.
  bool acc_empty = false;      // A boundary has moved acc into the blocks; y becomes acc.

  // The layer; Shape::layers at the head.
  size_t layer = 0;
  Phase phase = Phase::kAttention;
  size_t kda_ordinal = 0;  // Of this layer among the KDA layers.
  size_t mla_ordinal = 0;
  size_t moe_ordinal = 0;
  MutableBuffer kda_block;  // The state that this step's KDA layer writes.

  RouteSink* routes = nullptr;  // Null: nobody listens. Set between steps.

  const LayerVectors& vectors() const { return resident.layer(layer); }
};

// "layer 3, step 12": where a step stands, for messages.
inline std::string WhereOf(const Context& context) {
  return "layer " + std::to_string(context.layer) + ", step " + std::to_string(context.step);
}

}  // namespace penstock::k3
