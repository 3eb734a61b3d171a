#include "models/k3/layers/residual.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace penstock::k3 {
namespace {

// `mixed` = the mix of the finished blocks and acc of position t, oldest first; acc alone is its own
// mix.
const float* MixInto(Context& context, size_t t, const float* factor,
                     std::vector<const float*>& sources, float* mixed) {
  Activations& act = context.act;
  const size_t hidden = context.shape.hidden;
  const size_t finished = context.residual_blocks;
  if (finished == 0) return act.acc[t];
  for (size_t i = 0; i < finished; ++i) sources[i] = act.blocks[t] + i * hidden;
  sources[finished] = act.acc[t];
  context.kernels.residual_mix(sources.data(), finished + 1, factor, hidden, context.shape.norm_eps,
                               mixed);
  return mixed;
}

// x of the positions from `first` on.
void Mix(Context& context, size_t first, const float* factor, const float* norm) {
  Activations& act = context.act;
  for (size_t t = first; t < context.positions; ++t) {
    const float* mixed = MixInto(context, t, factor, act.sources, act.mixed[t]);
    context.kernels.rms_norm(mixed, norm, context.shape.hidden, context.shape.norm_eps, act.x[t]);
  }
}

}  // namespace

void MixBeforeAttention(Context& context) {
  Mix(context, 0, context.vectors().attn_factor, context.vectors().input_norm);
  if (context.layer % context.shape.residual_block != 0) return;
  const size_t hidden = context.shape.hidden;
  for (size_t t = 0; t < context.positions; ++t) {
    float* const block = context.act.blocks[t] + context.residual_blocks * hidden;
    std::copy_n(context.act.acc[t], hidden, block);
  }
  ++context.residual_blocks;
  context.acc_empty = true;
}

void MixBeforeMlp(Context& context) {
  Mix(context, 0, context.vectors().mlp_factor, context.vectors().post_norm);
}

void MixAhead(Context& context, size_t layer) {
  Activations& act = context.act;
  const LayerVectors& vectors = context.resident.layer(layer);
  const float* mixed = MixInto(context, context.positions - 1, vectors.mlp_factor,
                               act.ahead_sources, act.ahead_mixed);
  context.kernels.rms_norm(mixed, vectors.post_norm, context.shape.hidden, context.shape.norm_eps,
                           act.ahead_x);
}

void MixBeforeHead(Context& context) {
  Mix(context, context.first_logits, context.resident.out_factor, context.resident.norm);
}

Status Combine(Context& context) {
  Activations& act = context.act;
  const size_t hidden = context.shape.hidden;
  for (size_t t = 0; t < context.positions; ++t) {
    if (context.acc_empty) {
      std::copy_n(act.y[t], hidden, act.acc[t]);
    } else {
      context.kernels.add_scaled(act.y[t], 1.0f, hidden, act.acc[t]);
    }
    if (!context.kernels.all_finite(act.acc[t], hidden)) {
      return Unsound("the activations are not finite any more", WhereOf(context));
    }
  }
  context.acc_empty = false;
  return {};
}

}  // namespace penstock::k3
