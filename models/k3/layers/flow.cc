#include "models/k3/layers/flow.h"

#include "runtime/check.h"

namespace penstock::k3 {

void Flow::Begin(size_t positions) {
  embedded_left_ = positions;
  layer_ = 0;
  phase_ = Phase::kAttention;
}

void Flow::Join(size_t& left, Next then, std::vector<Next>& next) {
  PENSTOCK_CHECK(left > 0);
  if (--left == 0) next.push_back(then);
}

void Flow::Multiply(Role role, std::vector<Next>& next) {
  const uint32_t product = pass_.Find(layer_, role);
  if (product == kNone) return;
  rows_left_[product] = pass_.products()[product].matrix.rows;
  next.push_back({Action::kMultiply, product});
}

// The query and the cached row: latent attention needs both.
void Flow::LatentInputReady(std::vector<Next>& next) {
  PENSTOCK_CHECK(latent_inputs_left_ > 0);
  if (--latent_inputs_left_ == 0) Multiply(Role::kMlaKvB, next);
}

void Flow::StartLayer(std::vector<Next>& next) {
  phase_ = Phase::kAttention;
  kda_inputs_left_ = 6;  // q, k, v, decay, beta, gate
  kda_heads_left_ = shape_.kda_heads;
  latent_inputs_left_ = 2;
  gate_inputs_left_ = 2;
  mlp_inputs_left_ = 2;
  outputs_left_ = layer_ < shape_.layers && shape_.IsMoe(layer_) ? 2 : 1;
  next.push_back({Action::kMix});
}

// The mixed and normed input x is there: every product that reads it may start.
void Flow::InputReady(std::vector<Next>& next) {
  if (phase_ == Phase::kHead) return Multiply(Role::kHead, next);
  if (phase_ == Phase::kMlp) {
    for (const Role role : {Role::kDenseGate, Role::kDenseUp, Role::kRouter, Role::kLatentDown,
                            Role::kSharedGate, Role::kSharedUp}) {
      Multiply(role, next);
    }
    return;
  }
  for (const Role role : {Role::kKdaDecayA, Role::kKdaGateA, Role::kKdaBeta, Role::kKdaQ,
                          Role::kKdaK, Role::kKdaV, Role::kMlaQA, Role::kMlaKvA, Role::kMlaGate}) {
    Multiply(role, next);
  }
  const bool low_rank_gate = pass_.Find(layer_, Role::kKdaGateA) != kNone;
  if (!low_rank_gate) Multiply(Role::kKdaGate, next);
}

void Flow::ProductDone(Role role, std::vector<Next>& next) {
  switch (role) {
    case Role::kKdaDecayA:
      return Multiply(Role::kKdaDecayB, next);
    case Role::kKdaGateA:
      return Multiply(Role::kKdaGate, next);
    case Role::kKdaQ:
    case Role::kKdaK:
    case Role::kKdaV:
    case Role::kKdaDecayB:
    case Role::kKdaBeta:
    case Role::kKdaGate:
      return Join(kda_inputs_left_, {Action::kKda}, next);
    case Role::kMlaQA:
      return next.push_back({Action::kNormQuery});
    case Role::kMlaKvA:
      return next.push_back({Action::kAppendLatent});
    case Role::kMlaQB:
      return LatentInputReady(next);
    case Role::kMlaKvB:
    case Role::kMlaGate:
      return Join(gate_inputs_left_, {Action::kGate}, next);
    case Role::kDenseGate:
    case Role::kDenseUp:
    case Role::kSharedGate:
    case Role::kSharedUp:
      return Join(mlp_inputs_left_, {Action::kActivate}, next);
    case Role::kRouter:
      return next.push_back({Action::kChoose});
    case Role::kLatentDown:
      return next.push_back({Action::kPrepare});
    case Role::kDenseDown:
    case Role::kSharedDown:
    case Role::kLatentUp:
      return Join(outputs_left_, {Action::kCombine}, next);
    case Role::kKdaOut:
    case Role::kMlaOut:
      return next.push_back({Action::kCombine});
    case Role::kHead:
      return next.push_back({Action::kCommit});
    case Role::kCount:
      break;
  }
  PENSTOCK_CHECK(false);
}

void Flow::Combined(std::vector<Next>& next) {
  if (phase_ == Phase::kAttention) {
    phase_ = Phase::kMlp;
    next.push_back({Action::kMix});
    return;
  }
  ++layer_;
  if (layer_ < shape_.layers) return StartLayer(next);
  phase_ = Phase::kHead;
  next.push_back({Action::kMix});
}

void Flow::Advance(const Done& done, std::vector<Next>& next) {
  switch (done.event) {
    case Event::kEmbedded:
      PENSTOCK_CHECK(embedded_left_ > 0);
      if (--embedded_left_ == 0) StartLayer(next);
      return;
    case Event::kMixed:
      return InputReady(next);
    case Event::kMultiplied:
      PENSTOCK_CHECK(rows_left_[done.index] >= done.rows);
      rows_left_[done.index] -= done.rows;
      if (rows_left_[done.index] == 0) ProductDone(pass_.products()[done.index].role, next);
      return;
    case Event::kKdaHeads:
      PENSTOCK_CHECK(kda_heads_left_ >= done.rows);
      kda_heads_left_ -= done.rows;
      if (kda_heads_left_ == 0) Multiply(Role::kKdaOut, next);
      return;
    case Event::kQueryNormed:
      return Multiply(Role::kMlaQB, next);
    case Event::kLatentAppended:
      return LatentInputReady(next);
    case Event::kGated:
      return Multiply(Role::kMlaOut, next);
    case Event::kActivated:
      Multiply(Role::kDenseDown, next);
      return Multiply(Role::kSharedDown, next);
    case Event::kChosen:
      experts_left_ = done.rows;
      for (uint32_t i = 0; i < done.rows; ++i) next.push_back({Action::kWantExpert, i});
      return;
    case Event::kLatentPrepared:
      return next.push_back({Action::kApplyExperts});
    case Event::kExpertApplied:
      return Join(experts_left_, {Action::kGather}, next);
    case Event::kGathered:
      return Multiply(Role::kLatentUp, next);
    case Event::kCombined:
      return Combined(next);
  }
}

}  // namespace penstock::k3
