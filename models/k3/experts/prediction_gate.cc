#include "models/k3/experts/prediction_gate.h"

#include <algorithm>
#include <cmath>

namespace penstock::k3 {
namespace {

constexpr float kLayerFades = 1 - 1.0f / 32;
constexpr float kPoolFades = 1 - 1.0f / 512;
constexpr float kPoolWeight = 12;  // Tries that the mean over all layers is worth to one layer.
constexpr double kWindowFades = 0.8;
// What a read costs even when the device would have been idle: its part of memory and CPU.
constexpr double kOverhead = 0.02;
// Above guessing: a layer by so many standard deviations of what is measured, a rank by so much.
constexpr double kDeviations = 4;
constexpr double kMargin = 0.1;
constexpr double kPriceUp = 1.15;
constexpr double kPriceDown = 0.97;
constexpr double kLeastPrice = 0.25;
constexpr double kMostPrice = 20;
constexpr uint64_t kProbeEvery = 8;  // Steps between two looks at what is not read from.
constexpr uint32_t kFirstLooks = 8;

size_t Index(Source source) { return static_cast<size_t>(source); }

bool Contains(std::span<const uint32_t> experts, uint32_t expert) {
  return std::find(experts.begin(), experts.end(), expert) != experts.end();
}

}  // namespace

PredictMode ParsePredictMode(std::string_view name) {
  if (name == "next") return PredictMode::kNext;
  if (name == "previous") return PredictMode::kPrevious;
  if (name == "both") return PredictMode::kBoth;
  if (name == "auto") return PredictMode::kAuto;
  return PredictMode::kOff;
}

PredictionGate::PredictionGate(size_t layers, size_t experts, size_t top_k, PredictMode mode)
    : experts_(experts), top_k_(top_k), mode_(mode), layers_(layers) {
  for (Layer& layer : layers_) {
    for (auto& ranks : layer.ranks) ranks.resize(top_k);
    for (List& list : layer.lists) list.reserve(top_k);
  }
  for (auto& ranks : pool_) ranks.resize(top_k);
}

double PredictionGate::precision(Source source, size_t layer, size_t rank) const {
  const Rate& own = layers_[layer].ranks[Index(source)][rank];
  const Rate& all = pool_[Index(source)][rank];
  if (all.tries == 0) return 0;
  const float pooled = all.hits / all.tries;
  return (own.hits + kPoolWeight * pooled) / (own.tries + kPoolWeight);
}

double PredictionGate::recall(Source source, size_t layer) const {
  const Rate& rate = layers_[layer].recall[Index(source)];
  return rate.tries == 0 ? 0 : rate.hits / rate.tries;
}

// Ranks of both lists by what they were worth; an expert in both counts as two that fail apart.
void PredictionGate::Merge(Layer& layer, size_t number) {
  struct Weighed {
    double chance;
    Candidate candidate;
  };
  std::vector<Weighed> all;
  all.reserve(2 * top_k_);
  for (const Source source : {Source::kNext, Source::kPrevious}) {
    const List& list = layer.lists[Index(source)];
    for (size_t rank = 0; rank < list.size(); ++rank) {
      const double chance = precision(source, number, rank);
      const auto known = std::find_if(all.begin(), all.end(), [&](const Weighed& weighed) {
        return weighed.candidate.expert == list[rank].expert;
      });
      if (known == all.end()) {
        all.push_back({chance, list[rank]});
      } else {
        known->chance = 1 - (1 - known->chance) * (1 - chance);
      }
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Weighed& a, const Weighed& b) { return a.chance > b.chance; });
  List& merged = layer.lists[Index(Source::kBoth)];
  merged.clear();
  for (size_t i = 0; i < std::min(all.size(), top_k_); ++i) merged.push_back(all[i].candidate);
}

void PredictionGate::Offer(size_t number, std::span<const uint32_t> next,
                           std::span<const uint32_t> previous,
                           const std::function<bool(uint32_t)>& here) {
  Layer& layer = layers_[number];
  for (const auto& [source, experts] :
       {std::pair(Source::kNext, next), std::pair(Source::kPrevious, previous)}) {
    List& list = layer.lists[Index(source)];
    list.clear();
    for (const uint32_t expert : experts.first(std::min(experts.size(), top_k_))) {
      list.push_back({expert, here(expert)});
    }
  }
  layer.from_router = !next.empty();
  Merge(layer, number);
}

double PredictionGate::Guess() const {
  return static_cast<double>(top_k_) / static_cast<double>(experts_);
}

// All ranks together: one alone is seen too seldom to tell a precision of one half from guessing among
// 48 experts.
bool PredictionGate::Informs(Source source, size_t layer) const {
  double hits = 0;
  double tries = 0;
  for (size_t rank = 0; rank < top_k_; ++rank) {
    const double weight = layers_[layer].ranks[Index(source)][rank].tries +
                          std::min(pool_[Index(source)][rank].tries, kPoolWeight);
    hits += precision(source, layer, rank) * weight;
    tries += weight;
  }
  const double guess = Guess();
  const double deviation = std::sqrt(guess * (1 - guess) / std::max(tries, 1.0));
  return hits > tries * (guess + kDeviations * deviation);
}

bool PredictionGate::Informs(Source source, size_t layer, size_t rank) const {
  return precision(source, layer, rank) > Guess() + kMargin;
}

Source PredictionGate::Pick(size_t layer) const {
  switch (mode_) {
    case PredictMode::kNext:
      return Source::kNext;
    case PredictMode::kPrevious:
      return Source::kPrevious;
    case PredictMode::kBoth:
      return Source::kBoth;
    case PredictMode::kOff:
    case PredictMode::kAuto:
      break;
  }
  Source best = Source::kPrevious;
  for (const Source source : {Source::kNext, Source::kBoth}) {
    // Where nothing comes from the router, the merged list is the other one: no gain in it.
    if (!layers_[layer].from_router) break;
    if (recall(source, layer) > recall(best, layer)) best = source;
  }
  return best;
}

void PredictionGate::Choose(size_t number, const AheadTiming& timing, const Account& account,
                            std::vector<uint32_t>& experts) {
  if (mode_ == PredictMode::kOff || timing.service_seconds <= 0) return;
  Layer& layer = layers_[number];
  const Source source = Pick(number);
  const List& list = layer.lists[Index(source)];
  const double rate = timing.expert_bytes / timing.service_seconds;
  // Earlier reads that are not decided yet count whole, what is added here as far as it is likely to be
  // for nothing.
  double waste = account.wasted_bytes + account.pending_bytes;
  double busy = account.pending_bytes / rate;
  if (!Informs(source, number)) return;
  for (size_t rank = 0; rank < list.size(); ++rank) {
    if (list[rank].here || !Informs(source, number, rank)) continue;
    const double chance = precision(source, number, rank);
    const double idle = std::clamp(layer.idle_seconds - busy, 0.0, timing.service_seconds);
    const double late =
        std::min(timing.service_seconds - idle, timing.window_bytes / std::max(rate, 1.0));
    const double cost = (1 - chance) * late + kOverhead * timing.service_seconds;
    if (chance * idle <= cost) continue;
    if (chance <= (1 - chance) * price_) continue;
    waste += (1 - chance) * timing.expert_bytes;
    if (waste > kMostWaste * account.expert_bytes) {
      short_of_waste_ = true;
      break;
    }
    busy += timing.service_seconds;
    experts.push_back(list[rank].expert);
  }
}

void PredictionGate::Score(size_t number, std::span<const uint32_t> chosen, double seconds) {
  Layer& layer = layers_[number];
  bool awake = false;
  for (size_t s = 0; s < kSources; ++s) {
    bool rank_informs = false;
    const List& list = layer.lists[s];
    size_t found = 0;
    for (size_t rank = 0; rank < list.size(); ++rank) {
      const bool hit = Contains(chosen, list[rank].expert);
      found += hit ? 1 : 0;
      if (list[rank].here) continue;
      layer.ranks[s][rank].Add(hit ? 1 : 0, 1, kLayerFades);
      pool_[s][rank].Add(hit ? 1 : 0, 1, kPoolFades);
      rank_informs = rank_informs || Informs(static_cast<Source>(s), number, rank);
    }
    awake = awake || (rank_informs && Informs(static_cast<Source>(s), number));
    if (!list.empty()) layer.recall[s].Add(found, chosen.size(), kLayerFades);
  }
  if (!layer.lists[Index(Source::kNext)].empty()) {
    ++layer.scored;
    layer.awake = awake;
  }
  if (seconds > 0) {
    layer.idle_seconds = layer.idle_seconds == 0
                             ? seconds
                             : kWindowFades * layer.idle_seconds + (1 - kWindowFades) * seconds;
  }
  for (List& list : layer.lists) list.clear();
}

void PredictionGate::EndStep() {
  price_ = std::clamp(price_ * (short_of_waste_ ? kPriceUp : kPriceDown), kLeastPrice, kMostPrice);
  short_of_waste_ = false;
}

bool PredictionGate::WantsNext(size_t number, uint64_t step) const {
  if (mode_ == PredictMode::kOff || mode_ == PredictMode::kPrevious) return false;
  const Layer& layer = layers_[number];
  return layer.awake || layer.scored < kFirstLooks || (step + number) % kProbeEvery == 0;
}

}  // namespace penstock::k3
