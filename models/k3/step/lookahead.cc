#include "models/k3/step/lookahead.h"

#include <algorithm>

#include "models/k3/layers/moe.h"
#include "models/k3/layers/residual.h"
#include "runtime/measure/clock.h"

namespace penstock::k3 {

Lookahead::Lookahead(Context& context, Experts& experts, const WeightStream& stream,
                     const LookaheadOptions& options)
    : context_(context),
      experts_(experts),
      stream_(stream),
      options_(options),
      active_(experts.ahead_slots() > 0 &&
              (options.mode != PredictMode::kOff || options.predictor != nullptr)),
      gate_(context.shape.layers, context.shape.experts, context.shape.top_k, options.mode),
      layers_(context.shape.layers) {
  wanted_.reserve(context.experts.capacity());
  for (Layer& layer : layers_) {
    layer.previous.reserve(context.shape.top_k);
    layer.next.reserve(context.shape.top_k);
  }
}

Lookahead::Wanted Lookahead::Enter() {
  const size_t layer = context_.layer;
  if (!enabled() || layer >= context_.shape.layers || !context_.shape.IsMoe(layer)) {
    return Wanted::kNothing;
  }
  // A chunk of a prompt chooses so many experts that the device never waits for their names.
  if (context_.first_logits > 0 && !always_) return Wanted::kNothing;
  bool router = always_;
  if (!router) {
    const std::lock_guard lock(mutex_);
    router = options_.predictor == nullptr && gate_.WantsNext(layer, context_.step);
  }
  // Before the first layer there is only the embedding: it tells too little. Where the scratch is
  // still at work for the layer before, that one's prediction is worth more.
  if (layer == 0 || !router || scratch_taken_.exchange(true, std::memory_order_acq_rel)) {
    return Wanted::kLists;
  }
  rows_ = 0;
  MixAhead(context_, layer);
  return Wanted::kRouter;
}

bool Lookahead::RouteAhead(uint32_t layer) {
  return rows_ == context_.shape.experts && ChooseAhead(context_, layer);
}

void Lookahead::Predict(uint64_t visit, uint64_t step, uint32_t layer, bool router) {
  const bool routed = router && RouteAhead(layer);
  {
    const std::lock_guard lock(mutex_);
    Layer& own = layers_[layer];
    own.next.clear();
    own.visit = visit;
    if (routed) {
      own.next.assign(context_.act.ahead_chosen, context_.act.ahead_chosen + context_.shape.top_k);
    }
    if (visit > settled_) Issue(visit, step, layer);
  }
  if (router) scratch_taken_.store(false, std::memory_order_release);
}

// With the mutex held, so that the layer's choice comes before all of it or behind.
void Lookahead::Issue(uint64_t visit, uint64_t step, uint32_t layer) {
  Layer& own = layers_[layer];
  issue_.clear();
  own.predicted_ns = NowNs(Clock::kWall);
  if (options_.predictor != nullptr) {
    options_.predictor->Predict(step, layer, issue_);
  } else {
    gate_.Offer(layer, own.next, own.previous,
                [&](uint32_t expert) { return experts_.IsHere(layer, expert); });
    // The trunk comes first: while it waits for the device, nothing else is asked of it.
    if (!active_ || stream_.reading() != 0) return;
    const uint64_t expert_bytes = experts_.expert_bytes();
    const AheadTiming timing{experts_.service_seconds(), static_cast<double>(options_.window_bytes),
                             static_cast<double>(expert_bytes)};
    const PredictionGate::Account account{static_cast<double>(experts_.traffic().payload),
                                          static_cast<double>(experts_.ahead().wasted_bytes),
                                          static_cast<double>(experts_.pending_bytes())};
    gate_.Choose(layer, timing, account, issue_);
  }
  if (!active_) return;
  for (const uint32_t expert : issue_) {
    if (expert < context_.shape.experts) experts_.Predict(visit, layer, expert);
  }
}

void Lookahead::Chosen(uint64_t visit, std::vector<uint32_t>& next) {
  next.clear();
  if (!enabled()) return;
  const auto layer = static_cast<uint32_t>(context_.layer);
  const std::span<const uint32_t> chosen(context_.act.chosen[context_.positions - 1],
                                         context_.shape.top_k);
  {
    const std::lock_guard lock(mutex_);
    settled_ = visit;
    Layer& own = layers_[layer];
    const bool predicted = own.visit == visit;
    if (predicted) next.assign(own.next.begin(), own.next.end());
    gate_.Score(layer, chosen,
                predicted ? static_cast<double>(NowNs(Clock::kWall) - own.predicted_ns) * 1e-9 : 0);
    own.previous.assign(chosen.begin(), chosen.end());
  }
  if (!active_) return;
  wanted_.clear();
  for (const ChosenExpert& expert : context_.experts) wanted_.push_back(expert.expert);
  experts_.Settle(visit, layer, wanted_);
}

void Lookahead::EndStep() {
  const std::lock_guard lock(mutex_);
  gate_.EndStep();
}

std::vector<LayerPrediction> Lookahead::stats() const {
  static constexpr const char* kSourceNames[kSources] = {"next", "previous", "both"};
  const std::lock_guard lock(mutex_);
  std::vector<LayerPrediction> stats;
  for (uint32_t layer = 0; layer < layers_.size(); ++layer) {
    if (!context_.shape.IsMoe(layer)) continue;
    const auto recall = [&](Source source) -> std::optional<double> {
      if (!gate_.scored(source, layer)) return std::nullopt;
      return gate_.recall(source, layer);
    };
    stats.push_back({layer, recall(Source::kNext), recall(Source::kPrevious),
                     active_ ? kSourceNames[static_cast<size_t>(gate_.Pick(layer))] : "none",
                     experts_.ahead(layer)});
  }
  return stats;
}

}  // namespace penstock::k3
