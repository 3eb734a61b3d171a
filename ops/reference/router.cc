#include <cmath>

#include "ops/reference/reference.h"
#include "runtime/check.h"

namespace penstock::ops::reference {
namespace {

// Marks the experts of the groups that stay: those with the largest sum of their two best scores.
std::vector<bool> AllowedExperts(const RouterConfig& config, View biased) {
  std::vector<bool> allowed(config.experts, config.groups <= config.top_groups);
  if (config.groups <= config.top_groups) return allowed;
  const size_t size = config.experts / config.groups;
  Vector group_scores(config.groups);
  for (size_t g = 0; g < config.groups; ++g) {
    double best = -INFINITY;
    double second = -INFINITY;
    for (size_t e = g * size; e < (g + 1) * size; ++e) {
      if (biased[e] > best) {
        second = best;
        best = biased[e];
      } else if (biased[e] > second) {
        second = biased[e];
      }
    }
    group_scores[g] = size == 1 ? best : best + second;
  }
  for (size_t round = 0; round < config.top_groups; ++round) {
    size_t chosen = 0;
    for (size_t g = 1; g < config.groups; ++g) {
      if (group_scores[g] > group_scores[chosen]) chosen = g;
    }
    group_scores[chosen] = -INFINITY;
    for (size_t e = chosen * size; e < (chosen + 1) * size; ++e) allowed[e] = true;
  }
  return allowed;
}

}  // namespace

Choice Route(const RouterConfig& config, View logits, View bias) {
  PENSTOCK_CHECK(logits.size() == config.experts && bias.size() == config.experts);
  PENSTOCK_CHECK(config.top_k >= 1 && config.top_k <= config.experts);
  Vector scores(config.experts);
  Vector biased(config.experts);
  for (size_t e = 0; e < config.experts; ++e) {
    scores[e] = Sigmoid(logits[e]);
    biased[e] = scores[e] + bias[e];
  }
  std::vector<bool> allowed = AllowedExperts(config, biased);
  Choice choice;
  double total = 0;
  for (size_t round = 0; round < config.top_k; ++round) {
    size_t best = config.experts;
    for (size_t e = 0; e < config.experts; ++e) {
      if (allowed[e] && (best == config.experts || biased[e] > biased[best])) best = e;
    }
    PENSTOCK_CHECK(best < config.experts);
    allowed[best] = false;
    choice.ids.push_back(static_cast<uint32_t>(best));
    choice.weights.push_back(scores[best]);
    total += scores[best];
  }
  const double divisor = config.renormalize && config.top_k > 1 ? total + 1e-20 : 1.0;
  for (double& weight : choice.weights) weight = weight / divisor * config.scale;
  return choice;
}

}  // namespace penstock::ops::reference
