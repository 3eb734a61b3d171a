#include "models/k3/layers/operands.h"

#include "runtime/check.h"

namespace penstock::k3 {

Rows InputOf(const Context& context, Role role) {
  const Activations& act = context.act;
  switch (role) {
    case Role::kKdaDecayB:
      return act.decay_a;
    case Role::kKdaGate:
      return context.shape.full_rank_gate ? act.x : act.gate_a;
    case Role::kKdaOut:
    case Role::kMlaOut:
      return act.attended;
    case Role::kMlaQB:
      return act.q_latent;
    case Role::kDenseDown:
    case Role::kSharedDown:
      return act.mlp_gate;
    case Role::kLatentUp:
      return act.expert_normed;
    default:
      return act.x;
  }
}

Rows OutputOf(const Context& context, Role role) {
  const Activations& act = context.act;
  switch (role) {
    case Role::kKdaQ:
      return act.kda_q;
    case Role::kKdaK:
      return act.kda_k;
    case Role::kKdaV:
      return act.kda_v;
    case Role::kKdaDecayA:
      return act.decay_a;
    case Role::kKdaDecayB:
      return act.decay_b;
    case Role::kKdaBeta:
      return act.beta;
    case Role::kKdaGateA:
      return act.gate_a;
    case Role::kKdaGate:
    case Role::kMlaGate:
      return act.gate;
    case Role::kMlaQA:
      return act.q_a;
    case Role::kMlaKvA:
      return act.kv_a;
    case Role::kMlaQB:
      return act.mla_q;
    case Role::kDenseGate:
    case Role::kSharedGate:
      return act.mlp_gate;
    case Role::kDenseUp:
    case Role::kSharedUp:
      return act.mlp_up;
    case Role::kRouter:
      return act.router;
    case Role::kLatentDown:
      return act.latent;
    case Role::kSharedDown:
      return act.shared;
    case Role::kKdaOut:
    case Role::kMlaOut:
    case Role::kDenseDown:
    case Role::kLatentUp:
      return act.y;
    case Role::kHead:
      return act.logits;
    case Role::kMlaKvB:  // Not a plain product: AttendLatent.
    case Role::kCount:
      break;
  }
  PENSTOCK_CHECK(false);
  return {};
}

}  // namespace penstock::k3
