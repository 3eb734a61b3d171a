#include "models/k3/layers/kda.h"

#include <algorithm>
#include <cmath>

namespace penstock::k3 {
namespace {

// Convolves one projected input of a head and moves its history on by one position.
void Convolve(const Context& context, size_t head, const float* taps, const float* history,
              const float* projected, float* convolved, float* next_history) {
  const Shape& shape = context.shape;
  const size_t width = shape.kda_width;
  const size_t kept = shape.conv_taps - 1;
  const float* input = projected + head * width;
  context.kernels.short_conv_silu(taps + head * width * shape.conv_taps, history, input, width,
                                  shape.conv_taps, convolved + head * width);
  if (kept == 0) return;
  std::copy(history + width, history + kept * width, next_history);
  std::copy_n(input, width, next_history + (kept - 1) * width);
}

}  // namespace

Status BeginKda(Context& context) {
  PENSTOCK_TRY(context.kda_block, context.store.NewKdaBlock());
  return {};
}

void KdaHead(Context& context, size_t head) {
  const Shape& shape = context.shape;
  const ops::Kernels& kernels = context.kernels;
  const LayerVectors& vectors = context.vectors();
  const KdaLayout& layout = context.store.kda_layout();
  Activations& act = context.act;
  const size_t width = shape.kda_width;
  const size_t at = head * width;

  const float* before =
      reinterpret_cast<const float*>(context.before->kda[context.kda_ordinal].data()) +
      head * layout.head_floats();
  float* after = reinterpret_cast<float*>(context.kda_block.data()) + head * layout.head_floats();
  const size_t history = width * width;
  const size_t kept = layout.history_floats();
  Convolve(context, head, vectors.q_conv, before + history, act.kda_q, act.conv_q, after + history);
  Convolve(context, head, vectors.k_conv, before + history + kept, act.kda_k, act.conv_k,
           after + history + kept);
  Convolve(context, head, vectors.v_conv, before + history + 2 * kept, act.kda_v, act.conv_v,
           after + history + 2 * kept);

  const float query_scale = 1.0f / std::sqrt(static_cast<float>(width));
  kernels.l2_normalize(act.conv_q + at, width, query_scale, act.conv_q + at);
  kernels.l2_normalize(act.conv_k + at, width, 1.0f, act.conv_k + at);
  kernels.kda_decay(act.decay_b + at, vectors.dt_bias + at, width, vectors.decay_scale[head],
                    shape.decay_bound, act.alpha + at);
  float beta = 0;
  kernels.sigmoid(act.beta + head, 1, &beta);
  kernels.kda_step(before, act.conv_q + at, act.conv_k + at, act.conv_v + at, act.alpha + at, beta,
                   width, after, act.attended + at);
  kernels.gated_norm(act.attended + at, vectors.o_norm, act.gate + at, width, shape.norm_eps,
                     act.attended + at);
}

void EndKda(Context& context) {
  context.next->kda[context.kda_ordinal] = std::move(context.kda_block).Freeze();
}

}  // namespace penstock::k3
