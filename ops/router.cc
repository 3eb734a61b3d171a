#include "ops/router.h"

#include <cmath>

#include "runtime/check.h"

namespace penstock::ops {
namespace {

constexpr float kExcluded = -INFINITY;

// The sum of the two best biased scores of group g.
float GroupScore(const float* biased, size_t g, size_t size) {
  float best = kExcluded;
  float second = kExcluded;
  for (size_t e = g * size; e < (g + 1) * size; ++e) {
    if (biased[e] > best) {
      second = best;
      best = biased[e];
    } else if (biased[e] > second) {
      second = biased[e];
    }
  }
  return size == 1 ? best : best + second;
}

// Whether fewer than top_groups groups come before g.
bool GroupStays(const RouterConfig& config, const float* biased, size_t g) {
  if (config.groups <= config.top_groups) return true;
  const size_t size = config.experts / config.groups;
  const float own = GroupScore(biased, g, size);
  size_t before = 0;
  for (size_t other = 0; other < config.groups; ++other) {
    const float score = GroupScore(biased, other, size);
    if (score > own || (score == own && other < g)) ++before;
  }
  return before < config.top_groups;
}

// Puts expert e into the descending list of the best so far. Experts come in ascending order, so
// that an equal score stands behind those already there.
void Offer(const float* biased, uint32_t e, size_t top_k, size_t& filled, uint32_t* ids) {
  if (filled == top_k && !(biased[e] > biased[ids[top_k - 1]])) return;
  size_t place = filled < top_k ? filled++ : top_k - 1;
  for (; place > 0 && biased[e] > biased[ids[place - 1]]; --place) ids[place] = ids[place - 1];
  ids[place] = e;
}

}  // namespace

void Route(const RouterConfig& config, const float* scores, const float* bias, float* scratch,
           uint32_t* ids, float* weights) {
  PENSTOCK_CHECK(config.groups >= 1 && config.experts % config.groups == 0);
  const size_t group_size = config.experts / config.groups;
  const size_t staying =
      config.groups > config.top_groups ? config.top_groups * group_size : config.experts;
  PENSTOCK_CHECK(config.top_k >= 1 && config.top_k <= staying);
  for (size_t e = 0; e < config.experts; ++e) {
    const float biased = scores[e] + bias[e];
    scratch[e] = std::isnan(biased) ? kExcluded : biased;
  }
  size_t filled = 0;
  for (size_t g = 0; g < config.groups; ++g) {
    if (!GroupStays(config, scratch, g)) continue;
    for (size_t e = g * group_size; e < (g + 1) * group_size; ++e) {
      Offer(scratch, static_cast<uint32_t>(e), config.top_k, filled, ids);
    }
  }
  float total = 0.0f;
  for (size_t i = 0; i < config.top_k; ++i) {
    weights[i] = scores[ids[i]];
    total += weights[i];
  }
  const float divisor = config.renormalize && config.top_k > 1 ? total + 1e-20f : 1.0f;
  for (size_t i = 0; i < config.top_k; ++i) weights[i] = weights[i] / divisor * config.scale;
}

}  // namespace penstock::ops
