#pragma once

#include <cstdint>

#include "models/k3/layers/context.h"

namespace penstock::k3 {

// The weights of one routed expert, MXFP4 as stored: w1 the gate, w3 the up, w2 the down matrix.
struct ExpertView {
  const uint8_t* w1_packed = nullptr;  // [F][L/2]
  const uint8_t* w1_scale = nullptr;   // [F][L/32]
  const uint8_t* w2_packed = nullptr;  // [L][F/2]
  const uint8_t* w2_scale = nullptr;   // [L][F/32]
  const uint8_t* w3_packed = nullptr;  // [F][L/2]
  const uint8_t* w3_scale = nullptr;   // [F][L/32]
};

// mlp_gate = situ(mlp_gate, mlp_up), over `width` values: the dense layer or the shared experts.
void ActivateMlp(Context& context, size_t width);

// Chooses the experts of this position from the router's logits: act.chosen and act.chosen_weight.
void ChooseExperts(Context& context);

// Prepares act.latent for the MXFP4 products; every expert reads the result.
void PrepareLatent(Context& context);

// act.expert_out[rank] = w2 situ(w1 z, w3 z). Ranks are independent: any number may run at once.
void ApplyExpert(Context& context, const ExpertView& weights, size_t rank);

// The weighted sum of the experts' outputs in router order, never in order of arrival, then its
// norm: act.expert_normed, the input of the up-projection.
void GatherExperts(Context& context);

// act.y += act.shared: the shared experts' output, unweighted.
void AddShared(Context& context);

}  // namespace penstock::k3
