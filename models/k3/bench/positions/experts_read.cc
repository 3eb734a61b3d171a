#include "models/k3/bench/positions/experts_read.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace penstock::k3 {

uint64_t UniqueExperts(std::span<const Route> routes) {
  std::set<std::pair<uint32_t, uint32_t>> unique;
  for (const Route& route : routes) {
    for (const uint32_t expert : route.chosen) unique.emplace(route.layer, expert);
  }
  return unique.size();
}

Status AddChunk(std::span<const Route> routes, const StepStats& step, ChunkFigures& sum) {
  const uint64_t unique = UniqueExperts(routes);
  const uint64_t read = unique - std::min(unique, step.expert_hits);
  const uint64_t bytes = step.expert_bytes - step.predicted_wasted_bytes;
  if (bytes != read * sum.one_expert) {
    return Unsound(
        fmt::format(
            "a chunk of {} positions chose {} different experts and found {} of them in the "
            "cache: expected {} x {} = {} bytes read, got {}",
            step.positions, unique, step.expert_hits, read, sum.one_expert, read * sum.one_expert,
            bytes),
        fmt::format("step {}", step.n));
  }
  ++sum.chunks;
  sum.unique_experts += unique;
  sum.found += step.expert_hits;
  sum.expert_bytes += bytes;
  return {};
}

}  // namespace penstock::k3
