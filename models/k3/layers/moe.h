#pragma once

#include <cstdint>

#include "models/k3/experts/expert_view.h"
#include "models/k3/layers/context.h"
#include "runtime/result.h"

namespace penstock::k3 {

// mlp_gate = situ(mlp_gate, mlp_up), over `width` values: the dense layer or the shared experts.
void ActivateMlp(Context& context, size_t width);

// Chooses the experts of each position from the router's logits: act.chosen and act.chosen_weight.
// context.experts becomes their union, earliest first.
// Unsound when a logit or a bias is not finite: a comparison with NaN would silently drop an expert.
Status ChooseExperts(Context& context);

// The same from act.ahead_router for `layer`: act.ahead_chosen. False when a score is not finite. It
// touches nothing that the step uses.
bool ChooseAhead(Context& context, size_t layer);

// Prepares act.latent for the MXFP4 products, each position alone.
void PrepareLatent(Context& context);

// act.expert_out = w2 situ(w1 z, w3 z) for every position that chose context.experts[index], in one
// product. Experts are independent: any number may run at once.
void ApplyExpert(Context& context, const ExpertView& weights, size_t index);

// The weighted sum of a position's experts in its router's order, never in order of arrival, then its
// norm: act.expert_normed, the input of the up-projection.
void GatherExperts(Context& context);

// act.y += act.shared: the shared experts' output, unweighted.
void AddShared(Context& context);

}  // namespace penstock::k3
