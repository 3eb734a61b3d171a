#include "models/k3/layers/activations.h"

#include <algorithm>

#include "ops/attention.h"
#include "ops/cache_line.h"
#include "ops/kernels/kernels.h"

namespace penstock::k3 {

// Hands out consecutive vectors at 64-byte boundaries; counts only while the base is null.
class Activations::Layout {
 public:
  Layout(float* base, size_t positions) : base_(base), positions_(positions) {}
  float* Take(size_t floats) {
    float* vector = base_ == nullptr ? nullptr : base_ + taken_;
    taken_ += ops::PaddedToLine(floats);
    return vector;
  }
  Rows TakeRows(size_t floats, size_t rows) {
    const size_t stride = ops::PaddedToLine(floats);
    return {Take(rows * stride), stride};
  }
  Rows TakeRows(size_t floats) { return TakeRows(floats, positions_); }
  Strided<uint32_t> TakeIntegers(size_t count) {
    const Rows rows = TakeRows(count);
    return {reinterpret_cast<uint32_t*>(rows.data), rows.stride};
  }
  size_t taken() const { return taken_; }

 private:
  float* base_;
  const size_t positions_;
  size_t taken_ = 0;
};

size_t MostResidualBlocks(const Shape& shape) {
  return (shape.layers + shape.residual_block - 1) / shape.residual_block;
}

size_t Activations::Lay(const Shape& shape, size_t most, size_t rows_of_logits, float* base) {
  Layout layout(base, most);
  positions = most;
  const size_t attended_floats = std::max(shape.kda_total(), shape.mla_value_total());
  const size_t mlp_floats = std::max(shape.dense_width, shape.shared_width());
  const ops::LatentShape latent_shape{shape.mla_heads, shape.nope, shape.rope, shape.value,
                                      shape.kv_rank};
  const size_t groups = (shape.mla_heads + ops::kHeadGroup - 1) / ops::kHeadGroup;
  latent_scratch_floats = ops::PaddedToLine(ops::LatentScratchFloats(latent_shape));

  for (Rows* rows : {&acc, &mixed, &x, &y, &shared}) *rows = layout.TakeRows(shape.hidden);
  blocks = layout.TakeRows(MostResidualBlocks(shape) * shape.hidden);
  for (Rows* rows : {&kda_q, &kda_k, &kda_v, &decay_b}) *rows = layout.TakeRows(shape.kda_total());
  for (Rows* rows : {&decay_a, &gate_a}) *rows = layout.TakeRows(shape.kda_width);
  beta = layout.TakeRows(shape.kda_heads);
  for (Rows* rows : {&gate, &attended}) *rows = layout.TakeRows(attended_floats);
  for (Rows* rows : {&q_a, &q_latent}) *rows = layout.TakeRows(shape.q_rank);
  kv_a = layout.TakeRows(shape.kv_rank + shape.rope);
  mla_q = layout.TakeRows(shape.mla_q_total());
  latent_scratch = layout.Take(groups * latent_scratch_floats);
  for (Rows* rows : {&mlp_gate, &mlp_up}) *rows = layout.TakeRows(mlp_floats);
  router = layout.TakeRows(shape.experts);
  router_scratch = layout.Take(shape.experts);
  for (Rows* rows : {&latent, &expert_sum, &expert_normed}) *rows = layout.TakeRows(shape.latent);
  latent_prepared = layout.TakeRows(ops::Mxfp4ScratchFloats(shape.latent, 1));
  LayExperts(shape, layout);
  for (float** vector : {&ahead_mixed, &ahead_x}) *vector = layout.Take(shape.hidden);
  for (float** vector : {&ahead_router, &ahead_scratch}) *vector = layout.Take(shape.experts);
  ahead_weight = layout.Take(shape.top_k);
  ahead_chosen = reinterpret_cast<uint32_t*>(layout.Take(shape.top_k));
  logits = {layout.Take(rows_of_logits * shape.vocab), shape.vocab};
  return layout.taken();
}

void Activations::LayExperts(const Shape& shape, Layout& layout) {
  static_assert(sizeof(uint32_t) == sizeof(float));
  const size_t slots = positions * shape.top_k;
  chosen_weight = layout.TakeRows(shape.top_k);
  chosen = layout.TakeIntegers(shape.top_k);
  slot = layout.TakeIntegers(shape.top_k);
  slot_position = reinterpret_cast<uint32_t*>(layout.Take(slots));
  for (Rows* rows : {&expert_gate, &expert_up}) *rows = layout.TakeRows(shape.expert_width, slots);
  expert_prepared = layout.TakeRows(
      ops::Mxfp4ScratchFloats(std::max(shape.expert_width, shape.latent), 1), slots);
  expert_out = layout.TakeRows(shape.latent, slots);
}

size_t Activations::Bytes(const Shape& shape, size_t positions, size_t rows) {
  return Activations().Lay(shape, positions, rows, nullptr) * sizeof(float);
}

Result<Activations> Activations::Create(const Shape& shape, size_t positions, size_t rows) {
  Activations activations;
  PENSTOCK_TRY(activations.memory_, HugeRegion::Map(Bytes(shape, positions, rows)));
  activations.memory_.Touch();
  activations.sources.resize(MostResidualBlocks(shape) + 1);
  activations.ahead_sources.resize(activations.sources.size());
  activations.Lay(shape, positions, rows, reinterpret_cast<float*>(activations.memory_.data()));
  return activations;
}

}  // namespace penstock::k3
