#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock::k3 {

// The experts that consecutive tokens chose, and the guess of the next layer's router: top_k ids
// for each [step][layer][rank], flattened. Layers are those with experts, in order.
struct RouteRecord {
  static constexpr uint32_t kNoGuess = UINT32_MAX;  // Every rank of a layer nobody could guess.

  size_t experts = 0;
  size_t layers = 0;
  size_t top_k = 0;
  std::vector<uint32_t> chosen;
  std::vector<uint32_t> guessed;  // Empty, or as long as `chosen`.

  size_t steps() const { return layers * top_k == 0 ? 0 : chosen.size() / (layers * top_k); }
};

// All rates are shares of the chosen experts, from 0 to 1; 0 where there was nothing to count.
struct RouteStatistics {
  size_t steps = 0;
  // Mean over the layers of the usage entropy, in bits, with the correction of Miller and Madow
  // (1955) for few tokens; a token's experts differ, which makes it smaller by top_k.
  double entropy = 0;
  double most_entropy = 0;  // log2(experts)
  double chance = 0;        // top_k / experts: every rate below if routes told nothing.
  double repeat_rate = 0;   // Chosen in the same layer by the token before, too: what guessing
                            // the previous token's routes recalls.
  double next_recall = 0;   // Among the guesses of the next layer's router.
  size_t cache = 0;         // Experts that the cache of lru_hit_rate holds: a quarter of all.
  double lru_hit_rate = 0;  // Found in one LRU cache for all layers, from the second token on.
};

// `record` is whole: chosen.size() is a multiple of layers * top_k, ids are below `experts`.
RouteStatistics StatisticsOf(const RouteRecord& record);

// Hits of an LRU cache of `capacity` keys; accesses before `first` fill it and are not counted.
size_t CountLruHits(const std::vector<uint64_t>& keys, size_t capacity, size_t first);

}  // namespace penstock::k3
