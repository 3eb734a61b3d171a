#include "models/k3/synth/route_statistics.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include "io/cache/eviction/policies.h"
#include "runtime/check.h"
#include "runtime/measure/statistics.h"

namespace penstock::k3 {
namespace {

using Ids = std::span<const uint32_t>;

Ids At(const RouteRecord& record, const std::vector<uint32_t>& ids, size_t step, size_t layer) {
  return Ids(ids).subspan((step * record.layers + layer) * record.top_k, record.top_k);
}

size_t InBoth(Ids a, Ids b) {
  return static_cast<size_t>(std::count_if(a.begin(), a.end(), [&](uint32_t id) {
    return std::find(b.begin(), b.end(), id) != b.end();
  }));
}

double LayerEntropy(const RouteRecord& record, size_t layer) {
  std::vector<size_t> uses(record.experts);
  for (size_t step = 0; step < record.steps(); ++step) {
    for (const uint32_t id : At(record, record.chosen, step, layer)) ++uses[id];
  }
  const size_t all = record.steps() * record.top_k;
  double bits = 0;
  size_t seen = 0;
  for (const size_t n : uses) {
    if (n == 0) continue;
    ++seen;
    bits -= Share(n, all) * std::log2(Share(n, all));
  }
  const size_t free = seen - std::min(seen, record.top_k);
  const double missing = Share(free, 2 * all) / std::numbers::ln2;
  return std::min(bits + missing, std::log2(static_cast<double>(record.experts)));
}

double RepeatRate(const RouteRecord& record) {
  size_t repeated = 0, all = 0;
  for (size_t step = 1; step < record.steps(); ++step) {
    for (size_t layer = 0; layer < record.layers; ++layer) {
      repeated += InBoth(At(record, record.chosen, step, layer),
                         At(record, record.chosen, step - 1, layer));
      all += record.top_k;
    }
  }
  return Share(repeated, all);
}

double NextRecall(const RouteRecord& record) {
  if (record.guessed.empty()) return 0;
  PENSTOCK_CHECK(record.guessed.size() == record.chosen.size());
  size_t found = 0, all = 0;
  for (size_t step = 0; step < record.steps(); ++step) {
    for (size_t layer = 0; layer < record.layers; ++layer) {
      const Ids guess = At(record, record.guessed, step, layer);
      if (guess.front() == RouteRecord::kNoGuess) continue;
      found += InBoth(At(record, record.chosen, step, layer), guess);
      all += record.top_k;
    }
  }
  return Share(found, all);
}

}  // namespace

size_t CountLruHits(const std::vector<uint64_t>& keys, size_t capacity, size_t first) {
  if (capacity == 0 || keys.empty()) return 0;
  const auto hits = [&](std::span<const uint64_t> requests) {
    const auto lru = io::MakePolicy(
        "lru", {capacity, *std::max_element(keys.begin(), keys.end()) + 1, /*round=*/0});
    return io::Replay(*lru, capacity, requests).hits;
  };
  return hits(keys) - hits(std::span(keys).first(first));
}

RouteStatistics StatisticsOf(const RouteRecord& record) {
  RouteStatistics out;
  out.steps = record.steps();
  if (out.steps == 0) return out;
  const size_t token = record.layers * record.top_k;
  PENSTOCK_CHECK(record.chosen.size() == out.steps * token);
  for (size_t layer = 0; layer < record.layers; ++layer) {
    out.entropy += LayerEntropy(record, layer) / static_cast<double>(record.layers);
  }
  out.most_entropy = std::log2(static_cast<double>(record.experts));
  out.chance = Share(record.top_k, record.experts);
  out.repeat_rate = RepeatRate(record);
  out.next_recall = NextRecall(record);
  out.cache = record.layers * record.experts / 4;
  std::vector<uint64_t> keys;
  for (size_t i = 0; i < record.chosen.size(); ++i) {
    const size_t layer = i / record.top_k % record.layers;
    keys.push_back(layer * record.experts + record.chosen[i]);
  }
  out.lru_hit_rate = Share(CountLruHits(keys, out.cache, token), keys.size() - token);
  return out;
}

}  // namespace penstock::k3
