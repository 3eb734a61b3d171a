#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/k3/experts/routes.h"
#include "runtime/options/options.h"
#include "runtime/result.h"

namespace penstock::k3 {

struct CacheSize {
  std::string label;  // As it was asked for.
  uint64_t slots = 0;
};

// "64" experts, "2G" bytes (at least one expert), "0.25" or "25%" of all routed experts that the
// routes have layers for; several with commas.
Result<std::vector<CacheSize>> ParseCacheSizes(const std::string& text, const Routes& routes);

struct PolicyReplay {
  std::string policy;          // "belady" is the optimum.
  std::vector<uint64_t> hits;  // By cache size.
};

// How many of the experts that a layer chose had been predicted, with as many predicted as chosen.
struct Recall {
  uint64_t wanted = 0;
  uint64_t found = 0;
  std::optional<double> rate() const {  // Nothing where nobody predicted.
    if (wanted == 0) return std::nullopt;
    return static_cast<double>(found) / static_cast<double>(wanted);
  }
};
struct LayerRecall {
  uint32_t layer = 0;
  Recall next;      // The layer's router on the residual of the layer before.
  Recall previous;  // What the token before chose there; not a draft that was refused.
};

struct RoutesReplay {
  uint64_t steps = 0;
  uint64_t requests = 0;  // Experts that were demanded, in a step and layer each one once.
  std::vector<CacheSize> sizes;
  std::vector<PolicyReplay> policies;  // Belady's last.
  Recall next, previous;
  std::vector<LayerRecall> layers;
};

// What caches of these sizes would have found under each policy, and under Belady's optimum, which
// knows the whole file in advance. The requests are those of the run, in its order: step by step, in
// each layer what its positions chose, each expert once, the earliest position's first. Recall counts
// every position by itself.
RoutesReplay ReplayRoutes(const Routes& routes, std::span<const CacheSize> sizes,
                          std::span<const std::string_view> policies);

// For people: a row a policy, a column a size.
std::string ReplayTable(const RoutesReplay& replay);
Json ReplayJson(const RoutesReplay& replay);

}  // namespace penstock::k3
