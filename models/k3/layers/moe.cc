#include "models/k3/layers/moe.h"

#include <algorithm>

#include "ops/router.h"

namespace penstock::k3 {

void ActivateMlp(Context& context, size_t width) {
  context.kernels.situ_glu(context.act.mlp_gate, context.act.mlp_up, width, context.shape.situ_beta,
                           context.shape.situ_linear_beta, context.act.mlp_gate);
}

namespace {

ops::RouterConfig ConfigOf(const Shape& shape) {
  return {shape.experts,    shape.top_k,       shape.groups,
          shape.top_groups, shape.renormalize, shape.routed_scale};
}

}  // namespace

Status ChooseExperts(Context& context) {
  const Shape& shape = context.shape;
  Activations& act = context.act;
  if (!context.kernels.all_finite(act.router, shape.experts) ||
      !context.kernels.all_finite(context.vectors().router_bias, shape.experts)) {
    return Unsound("the router's scores are not finite", WhereOf(context));
  }
  context.kernels.sigmoid(act.router, shape.experts, act.router);
  ops::Route(ConfigOf(shape), act.router, context.vectors().router_bias, act.router_scratch,
             act.chosen, act.chosen_weight);
  if (context.routes != nullptr) context.routes->Chosen(context);
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
  context.kernels.mxfp4_prepare(context.act.latent, context.shape.latent, context.shape.latent, 1,
                                context.act.latent_prepared);
}

void ApplyExpert(Context& context, const ExpertView& weights, size_t rank) {
  const Shape& shape = context.shape;
  const ops::Kernels& kernels = context.kernels;
  const size_t width = shape.expert_width;
  float* gate = context.act.expert_gate + rank * width;
  float* up = context.act.expert_up + rank * width;
  float* prepared = context.act.expert_prepared + rank * context.act.expert_prepared_floats;
  kernels.matvec_mxfp4(weights.w1_packed, weights.w1_scale, width, shape.latent,
                       context.act.latent_prepared, 1, gate, width);
  kernels.matvec_mxfp4(weights.w3_packed, weights.w3_scale, width, shape.latent,
                       context.act.latent_prepared, 1, up, width);
  kernels.situ_glu(gate, up, width, shape.situ_beta, shape.situ_linear_beta, gate);
  kernels.mxfp4_prepare(gate, width, width, 1, prepared);
  kernels.matvec_mxfp4(weights.w2_packed, weights.w2_scale, shape.latent, width, prepared, 1,
                       context.act.expert_out + rank * shape.latent, shape.latent);
}

void GatherExperts(Context& context) {
  const Shape& shape = context.shape;
  Activations& act = context.act;
  std::fill_n(act.expert_sum, shape.latent, 0.0f);
  for (size_t rank = 0; rank < shape.top_k; ++rank) {
    context.kernels.add_scaled(act.expert_out + rank * shape.latent, act.chosen_weight[rank],
                               shape.latent, act.expert_sum);
  }
  context.kernels.rms_norm(act.expert_sum, context.vectors().latent_norm, shape.latent,
                           shape.norm_eps, act.expert_normed);
}

void AddShared(Context& context) {
  context.kernels.add_scaled(context.act.shared, 1.0f, context.shape.hidden, context.act.y);
}

}  // namespace penstock::k3
