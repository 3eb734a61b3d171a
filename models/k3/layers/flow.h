#pragma once

#include <cstdint>
#include <vector>

#include "models/k3/config/shape.h"
#include "models/k3/weights/pass.h"

namespace penstock::k3 {

// What a stage has finished. `index` and `rows` as the event says.
enum class Event : uint8_t {
  kEmbedded,        // acc of one position holds its token's row.
  kMixed,           // x is the input of the sub-layer, or of the head.
  kMultiplied,      // `rows` rows of product `index` are in place.
  kKdaHeads,        // `rows` heads are done.
  kQueryNormed,     // The query's latent is ready.
  kLatentAppended,  // The positions are in the latent cache.
  kGated,           // The attended values are gated.
  kActivated,       // The MLP's inner vector is ready.
  kChosen,          // The experts of the positions are known: `rows` different ones.
  kLatentPrepared,  // The experts' input is ready.
  kExpertApplied,   // One expert's output vectors are in place.
  kGathered,        // The input of the latent up-projection is ready.
  kCombined,        // y has been added to acc.
};
struct Done {
  Event event = Event::kEmbedded;
  uint32_t index = 0;
  uint32_t rows = 0;
};

// What may start now.
enum class Action : uint8_t {
  kMultiply,  // Product `index`: its input is ready.
  kMix,       // Before the sub-layer that phase() names.
  kKda,       // All heads.
  kNormQuery,
  kAppendLatent,
  kGate,
  kActivate,
  kChoose,
  kPrepare,
  kWantExpert,    // Expert `index` of those chosen.
  kApplyExperts,  // Experts that have arrived may run: their input is ready.
  kGather,
  kCombine,
  kCommit,  // The logits are complete.
};
struct Next {
  Action action = Action::kMix;
  uint32_t index = 0;
};

enum class Phase : uint8_t { kAttention, kMlp, kHead };

// The dataflow of a step as pure bookkeeping: which stage becomes possible when another finishes.
// No weights, no numbers: it is tested alone. Serial: one Advance at a time.
class Flow {
 public:
  Flow(const Pass& pass, const Shape& shape)
      : pass_(pass), shape_(shape), rows_left_(pass.products().size()) {}

  // Back to before the first layer of a step of `positions`; the next events are as many kEmbedded.
  void Begin(size_t positions = 1);

  // Appends to `next` what `done` makes possible, in the order in which it should start.
  void Advance(const Done& done, std::vector<Next>& next);

  size_t layer() const { return layer_; }  // Shape::layers while at the head.
  Phase phase() const { return phase_; }

 private:
  void StartLayer(std::vector<Next>& next);
  void InputReady(std::vector<Next>& next);
  void ProductDone(Role role, std::vector<Next>& next);
  void Multiply(Role role, std::vector<Next>& next);
  void LatentInputReady(std::vector<Next>& next);
  void Combined(std::vector<Next>& next);
  // Counts one of several inputs down; appends the action at the last one.
  static void Join(size_t& left, Next then, std::vector<Next>& next);

  const Pass& pass_;
  const Shape& shape_;
  std::vector<size_t> rows_left_;  // [products]
  size_t layer_ = 0;
  Phase phase_ = Phase::kAttention;
  size_t embedded_left_ = 0;
  size_t kda_inputs_left_ = 0;
  size_t kda_heads_left_ = 0;
  size_t latent_inputs_left_ = 0;  // Query and cache row, before the latent attention.
  size_t gate_inputs_left_ = 0;    // Attended values and gate.
  size_t mlp_inputs_left_ = 0;     // Gate and up.
  size_t experts_left_ = 0;
  size_t outputs_left_ = 0;  // Shared and routed experts.
};

}  // namespace penstock::k3
