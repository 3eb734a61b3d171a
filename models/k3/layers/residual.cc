#include "models/k3/layers/residual.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace penstock::k3 {
namespace {

// `mixed` = the mix of the finished blocks and acc, oldest first; acc alone is its own mix.
const float* MixInto(Context& context, const float* factor, std::vector<const float*>& sources,
                     float* mixed) {
  Activations& act = context.act;
  const size_t hidden = context.shape.hidden;
  const size_t finished = context.residual_blocks;
  if (finished == 0) return act.acc;
  for (size_t i = 0; i < finished; ++i) sources[i] = act.blocks + i * hidden;
  sources[finished] = act.acc;
  context.kernels.residual_mix(sources.data(), finished + 1, factor, hidden, context.shape.norm_eps,
                               mixed);
  return mixed;
}

const float* Mix(Context& context, const float* factor) {
  return MixInto(context, factor, context.act.sources, context.act.mixed);
}

void NormInto(Context& context, const float* mixed, const float* weight) {
  context.kernels.rms_norm(mixed, weight, context.shape.hidden, context.shape.norm_eps,
                           context.act.x);
}

}  // namespace

void MixBeforeAttention(Context& context) {
  const float* mixed = Mix(context, context.vectors().attn_factor);
  NormInto(context, mixed, context.vectors().input_norm);
  if (context.layer % context.shape.residual_block != 0) return;
  const size_t hidden = context.shape.hidden;
  std::copy_n(context.act.acc, hidden, context.act.blocks + context.residual_blocks * hidden);
  ++context.residual_blocks;
  context.acc_empty = true;
}

void MixBeforeMlp(Context& context) {
  NormInto(context, Mix(context, context.vectors().mlp_factor), context.vectors().post_norm);
}

void MixAhead(Context& context, size_t layer) {
  Activations& act = context.act;
  const LayerVectors& vectors = context.resident.layer(layer);
  const float* mixed = MixInto(context, vectors.mlp_factor, act.ahead_sources, act.ahead_mixed);
  context.kernels.rms_norm(mixed, vectors.post_norm, context.shape.hidden, context.shape.norm_eps,
                           act.ahead_x);
}

void MixBeforeHead(Context& context) {
  NormInto(context, Mix(context, context.resident.out_factor), context.resident.norm);
}

Status Combine(Context& context) {
  Activations& act = context.act;
  const size_t hidden = context.shape.hidden;
  if (context.acc_empty) {
    std::copy_n(act.y, hidden, act.acc);
    context.acc_empty = false;
  } else {
    context.kernels.add_scaled(act.y, 1.0f, hidden, act.acc);
  }
  if (context.kernels.all_finite(act.acc, hidden)) return {};
  return Unsound("the activations are not finite any more", WhereOf(context));
}

}  // namespace penstock::k3
