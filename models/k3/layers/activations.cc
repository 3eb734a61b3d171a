#include "models/k3/layers/activations.h"

#include <algorithm>

#include "ops/attention.h"
#include "ops/cache_line.h"
#include "ops/kernels/kernels.h"

namespace penstock::k3 {
namespace {

// Hands out consecutive vectors at 64-byte boundaries; counts only while the base is null.
class Layout {
 public:
  explicit Layout(float* base) : base_(base) {}
  float* Take(size_t floats) {
    float* vector = base_ == nullptr ? nullptr : base_ + taken_;
    taken_ += ops::PaddedToLine(floats);
    return vector;
  }
  size_t taken() const { return taken_; }

 private:
  float* base_;
  size_t taken_ = 0;
};

}  // namespace

size_t MostResidualBlocks(const Shape& shape) {
  return (shape.layers + shape.residual_block - 1) / shape.residual_block;
}

size_t Activations::Lay(const Shape& shape, float* base) {
  Layout layout(base);
  const size_t attended_floats = std::max(shape.kda_total(), shape.mla_value_total());
  const size_t mlp_floats = std::max(shape.dense_width, shape.shared_width());
  const ops::LatentShape latent_shape{shape.mla_heads, shape.nope, shape.rope, shape.value,
                                      shape.kv_rank};
  const size_t groups = (shape.mla_heads + ops::kHeadGroup - 1) / ops::kHeadGroup;
  latent_scratch_floats = ops::PaddedToLine(ops::LatentScratchFloats(latent_shape));
  expert_prepared_floats = ops::PaddedToLine(ops::Mxfp4ScratchFloats(shape.expert_width, 1));

  for (float** vector : {&acc, &mixed, &x, &y, &shared}) *vector = layout.Take(shape.hidden);
  blocks = layout.Take(MostResidualBlocks(shape) * shape.hidden);
  for (float** vector : {&kda_q, &kda_k, &kda_v, &conv_q, &conv_k, &conv_v, &decay_b, &alpha}) {
    *vector = layout.Take(shape.kda_total());
  }
  for (float** vector : {&decay_a, &gate_a}) *vector = layout.Take(shape.kda_width);
  beta = layout.Take(shape.kda_heads);
  for (float** vector : {&gate, &attended}) *vector = layout.Take(attended_floats);
  for (float** vector : {&q_a, &q_latent}) *vector = layout.Take(shape.q_rank);
  kv_a = layout.Take(shape.kv_rank + shape.rope);
  mla_q = layout.Take(shape.mla_q_total());
  latent_scratch = layout.Take(groups * latent_scratch_floats);
  for (float** vector : {&mlp_gate, &mlp_up}) *vector = layout.Take(mlp_floats);
  for (float** vector : {&router, &router_scratch}) *vector = layout.Take(shape.experts);
  for (float** vector : {&latent, &expert_sum, &expert_normed}) *vector = layout.Take(shape.latent);
  latent_prepared = layout.Take(ops::Mxfp4ScratchFloats(shape.latent, 1));
  for (float** vector : {&expert_gate, &expert_up}) {
    *vector = layout.Take(shape.top_k * shape.expert_width);
  }
  expert_prepared = layout.Take(shape.top_k * expert_prepared_floats);
  expert_out = layout.Take(shape.top_k * shape.latent);
  chosen_weight = layout.Take(shape.top_k);
  static_assert(sizeof(uint32_t) == sizeof(float));
  chosen = reinterpret_cast<uint32_t*>(layout.Take(shape.top_k));
  for (float** vector : {&ahead_mixed, &ahead_x}) *vector = layout.Take(shape.hidden);
  for (float** vector : {&ahead_router, &ahead_scratch}) *vector = layout.Take(shape.experts);
  ahead_weight = layout.Take(shape.top_k);
  ahead_chosen = reinterpret_cast<uint32_t*>(layout.Take(shape.top_k));
  logits = layout.Take(shape.vocab);
  return layout.taken();
}

size_t Activations::Bytes(const Shape& shape) {
  return Activations().Lay(shape, nullptr) * sizeof(float);
}

Result<Activations> Activations::Create(const Shape& shape) {
  Activations activations;
  PENSTOCK_TRY(activations.memory_, HugeRegion::Map(Bytes(shape)));
  activations.memory_.Touch();
  activations.sources.resize(MostResidualBlocks(shape) + 1);
  activations.ahead_sources.resize(activations.sources.size());
  activations.Lay(shape, reinterpret_cast<float*>(activations.memory_.data()));
  return activations;
}

}  // namespace penstock::k3
