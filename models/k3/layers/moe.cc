#include "models/k3/layers/moe.h"

#include <algorithm>

#include "ops/router.h"

namespace penstock::k3 {

void ActivateMlp(Context& context, size_t width) {
  for (size_t t = 0; t < context.positions; ++t) {
    float* const gate = context.act.mlp_gate[t];
    context.kernels.situ_glu(gate, context.act.mlp_up[t], width, context.shape.situ_beta,
                             context.shape.situ_linear_beta, gate);
  }
}

namespace {

ops::RouterConfig ConfigOf(const Shape& shape) {
  return {shape.experts,    shape.top_k,       shape.groups,
          shape.top_groups, shape.renormalize, shape.routed_scale};
}

Status RouteOne(Context& context, size_t t) {
  const Shape& shape = context.shape;
  Activations& act = context.act;
  float* const scores = act.router[t];
  if (!context.kernels.all_finite(scores, shape.experts)) {
    return Unsound("the router's scores are not finite", WhereOf(context));
  }
  context.kernels.sigmoid(scores, shape.experts, scores);
  ops::Route(ConfigOf(shape), scores, context.vectors().router_bias, act.router_scratch,
             act.chosen[t], act.chosen_weight[t]);
  if (context.routes != nullptr) context.routes->Chosen(context, t);
  return {};
}

// The union of the choices: the first position's in its router's order, then what the second one adds,
// and so on. The choices of an expert get slots side by side.
void Unite(Context& context) {
  const size_t top_k = context.shape.top_k;
  Activations& act = context.act;
  std::vector<ChosenExpert>& experts = context.experts;
  std::vector<uint32_t>& index = context.expert_index;
  experts.clear();
  std::fill(index.begin(), index.end(), kNone);
  for (size_t t = 0; t < context.positions; ++t) {
    for (size_t rank = 0; rank < top_k; ++rank) {
      const uint32_t expert = act.chosen[t][rank];
      if (index[expert] == kNone) {
        index[expert] = static_cast<uint32_t>(experts.size());
        experts.push_back({expert, 0, 0});
      }
      ++experts[index[expert]].slots;
    }
  }
  uint32_t slot = 0;
  for (ChosenExpert& chosen : experts) {
    chosen.first_slot = slot;
    slot += chosen.slots;
    chosen.slots = 0;
  }
  for (size_t t = 0; t < context.positions; ++t) {
    for (size_t rank = 0; rank < top_k; ++rank) {
      ChosenExpert& chosen = experts[index[act.chosen[t][rank]]];
      const uint32_t taken = chosen.first_slot + chosen.slots++;
      act.slot[t][rank] = taken;
      act.slot_position[taken] = static_cast<uint32_t>(t);
    }
  }
}

}  // namespace

Status ChooseExperts(Context& context) {
  if (!context.kernels.all_finite(context.vectors().router_bias, context.shape.experts)) {
    return Unsound("the router's scores are not finite", WhereOf(context));
  }
  for (size_t t = 0; t < context.positions; ++t) PENSTOCK_TRY_VOID(RouteOne(context, t));
  Unite(context);
  return {};
}

bool ChooseAhead(Context& context, size_t layer) {
  const Shape& shape = context.shape;
  Activations& act = context.act;
  const float* bias = context.resident.layer(layer).router_bias;
  if (!context.kernels.all_finite(act.ahead_router, shape.experts) ||
      !context.kernels.all_finite(bias, shape.experts)) {
    return false;
  }
  context.kernels.sigmoid(act.ahead_router, shape.experts, act.ahead_router);
  ops::Route(ConfigOf(shape), act.ahead_router, bias, act.ahead_scratch, act.ahead_chosen,
             act.ahead_weight);
  return true;
}

void PrepareLatent(Context& context) {
  for (size_t t = 0; t < context.positions; ++t) {
    context.kernels.mxfp4_prepare(context.act.latent[t], context.shape.latent, context.shape.latent,
                                  1, context.act.latent_prepared[t]);
  }
}

namespace {

// The latents of the positions that chose an expert, as its products want them.
const float* PreparedFor(Context& context, const ChosenExpert& chosen) {
  Activations& act = context.act;
  if (chosen.slots == 1) return act.latent_prepared[act.slot_position[chosen.first_slot]];
  const size_t latent = context.shape.latent;
  // Side by side in what will be the expert's output.
  for (uint32_t slot = chosen.first_slot; slot < chosen.first_slot + chosen.slots; ++slot) {
    std::copy_n(act.latent[act.slot_position[slot]], latent, act.expert_out[slot]);
  }
  float* const prepared = act.expert_prepared[chosen.first_slot];
  context.kernels.mxfp4_prepare(act.expert_out[chosen.first_slot], act.expert_out.stride, latent,
                                chosen.slots, prepared);
  return prepared;
}

}  // namespace

void ApplyExpert(Context& context, const ExpertView& weights, size_t index) {
  const Shape& shape = context.shape;
  const ops::Kernels& kernels = context.kernels;
  Activations& act = context.act;
  const ChosenExpert chosen = context.experts[index];
  const size_t width = shape.expert_width;
  const size_t first = chosen.first_slot;
  const size_t count = chosen.slots;
  const float* const latent = PreparedFor(context, chosen);
  kernels.matvec_mxfp4(weights.w1_packed, weights.w1_scale, width, shape.latent, latent, count,
                       act.expert_gate[first], act.expert_gate.stride);
  kernels.matvec_mxfp4(weights.w3_packed, weights.w3_scale, width, shape.latent, latent, count,
                       act.expert_up[first], act.expert_up.stride);
  for (size_t slot = first; slot < first + count; ++slot) {
    float* const gate = act.expert_gate[slot];
    kernels.situ_glu(gate, act.expert_up[slot], width, shape.situ_beta, shape.situ_linear_beta,
                     gate);
  }
  float* const prepared = act.expert_prepared[first];
  kernels.mxfp4_prepare(act.expert_gate[first], act.expert_gate.stride, width, count, prepared);
  kernels.matvec_mxfp4(weights.w2_packed, weights.w2_scale, shape.latent, width, prepared, count,
                       act.expert_out[first], act.expert_out.stride);
}

void GatherExperts(Context& context) {
  const Shape& shape = context.shape;
  Activations& act = context.act;
  for (size_t t = 0; t < context.positions; ++t) {
    float* const sum = act.expert_sum[t];
    std::fill_n(sum, shape.latent, 0.0f);
    for (size_t rank = 0; rank < shape.top_k; ++rank) {
      context.kernels.add_scaled(act.expert_out[act.slot[t][rank]], act.chosen_weight[t][rank],
                                 shape.latent, sum);
    }
    context.kernels.rms_norm(sum, context.vectors().latent_norm, shape.latent, shape.norm_eps,
                             act.expert_normed[t]);
  }
}

void AddShared(Context& context) {
  for (size_t t = 0; t < context.positions; ++t) {
    context.kernels.add_scaled(context.act.shared[t], 1.0f, context.shape.hidden, context.act.y[t]);
  }
}

}  // namespace penstock::k3
