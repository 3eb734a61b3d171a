#include "models/k3/experts/replay.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "io/cache/eviction/belady.h"
#include "io/cache/eviction/policies.h"
#include "runtime/measure/statistics.h"
#include "runtime/options/list.h"
#include "runtime/size.h"

namespace penstock::k3 {
namespace {

uint64_t MoeLayers(const Routes& routes) {
  std::set<uint32_t> layers;
  for (const Route& route : routes.routes) layers.insert(route.layer);
  return layers.size();
}

// A share of all experts: "0.25" or "25%". Nothing when it is neither.
std::optional<double> ParseShare(const std::string& text) {
  const bool percent = text.ends_with('%');
  if (!percent && text.find('.') == std::string::npos) return std::nullopt;
  const std::string digits = percent ? text.substr(0, text.size() - 1) : text;
  if (digits.empty() || digits.find_first_not_of("0123456789.") != std::string::npos) {
    return std::nullopt;
  }
  size_t used = 0;
  double share = 0;
  try {
    share = std::stod(digits, &used);
  } catch (const std::exception&) {
    return std::nullopt;
  }
  if (used != digits.size()) return std::nullopt;
  if (percent) share /= 100;
  return share > 0 && share <= 1 ? std::optional(share) : std::nullopt;
}

Error BadSize(const std::string& text) {
  return Refused(
      fmt::format("--cache expects experts (\"64\"), a size (\"2G\") or a share (\"0.25\", "
                  "\"25%\"), got \"{}\"",
                  text));
}

Result<uint64_t> SlotsOf(const std::string& text, const Routes& routes) {
  if (const auto share = ParseShare(text)) {
    const auto all = static_cast<double>(MoeLayers(routes) * routes.header.experts);
    return std::max<uint64_t>(1, static_cast<uint64_t>(std::llround(all * *share)));
  }
  const auto size = ParseSize(text);
  if (!size || size->bytes == 0 || text.find('.') != std::string::npos) return BadSize(text);
  if (text.find_first_not_of("0123456789") == std::string::npos) return size->bytes;
  if (routes.header.expert_bytes == 0) {
    return Refused("the routes do not say how large an expert is: expected --cache in experts");
  }
  if (size->bytes < routes.header.expert_bytes) {
    return Refused(fmt::format("--cache {} is less than one expert of {} bytes", text,
                               routes.header.expert_bytes));
  }
  return size->bytes / routes.header.expert_bytes;
}

std::string RateText(const Recall& recall) {
  const auto rate = recall.rate();
  return rate ? fmt::format("{:.3f}", *rate) : "-";
}
Json RateJson(const Recall& recall) {
  const auto rate = recall.rate();
  return rate ? Json(*rate) : Json(nullptr);
}

void Score(std::span<const uint32_t> predicted, std::span<const uint32_t> chosen, Recall& recall) {
  recall.wanted += chosen.size();
  for (const uint32_t expert : chosen) {
    if (std::find(predicted.begin(), predicted.end(), expert) != predicted.end()) ++recall.found;
  }
}

// What one step demands, in its order.
void AppendRequests(std::span<const Route> step, uint64_t experts,
                    std::vector<io::BlockKey>& requests) {
  std::map<uint32_t, std::vector<io::BlockKey>> layers;
  std::set<io::BlockKey> demanded;
  for (const Route& route : step) {
    for (const uint32_t expert : route.chosen) {
      const io::BlockKey key = route.layer * experts + expert;
      if (demanded.insert(key).second) layers[route.layer].push_back(key);
    }
  }
  for (const auto& [layer, keys] : layers) {
    requests.insert(requests.end(), keys.begin(), keys.end());
  }
}

// Of all steps, which it counts.
std::vector<io::BlockKey> RequestsOf(const Routes& routes, uint64_t& steps) {
  std::vector<io::BlockKey> requests;
  const std::vector<Route>& all = routes.routes;
  for (auto begin = all.begin(); begin != all.end();) {
    const auto end =
        std::find_if(begin, all.end(), [&](const Route& route) { return route.n != begin->n; });
    AppendRequests({begin, end}, routes.header.experts, requests);
    begin = end;
    ++steps;
  }
  return requests;
}

void ScoreAll(const Routes& routes, RoutesReplay& replay) {
  std::map<uint32_t, LayerRecall> layers;
  std::map<uint32_t, std::vector<const Route*>> sequences;  // Without what was refused.
  for (const Route& route : routes.routes) {
    LayerRecall& layer = layers[route.layer];
    layer.layer = route.layer;
    if (!route.next.empty()) Score(route.next, route.chosen, layer.next);
    std::vector<const Route*>& before = sequences[route.layer];
    while (!before.empty() && before.back()->position >= route.position) before.pop_back();
    if (!before.empty()) Score(before.back()->chosen, route.chosen, layer.previous);
    before.push_back(&route);
  }
  for (const auto& [number, layer] : layers) {
    for (const auto& [from, into] :
         {std::pair(&layer.next, &replay.next), std::pair(&layer.previous, &replay.previous)}) {
      into->wanted += from->wanted;
      into->found += from->found;
    }
    replay.layers.push_back(layer);
  }
}

}  // namespace

Result<std::vector<CacheSize>> ParseCacheSizes(const std::string& text, const Routes& routes) {
  std::vector<CacheSize> sizes;
  for (const std::string& part : SplitAtCommas(text)) {
    PENSTOCK_TRY(const uint64_t slots, SlotsOf(part, routes));
    // More slots than experts find nothing more.
    sizes.push_back({part, std::min(slots, MoeLayers(routes) * routes.header.experts)});
  }
  return sizes;
}

RoutesReplay ReplayRoutes(const Routes& routes, std::span<const CacheSize> sizes,
                          std::span<const std::string_view> policies) {
  RoutesReplay replay;
  replay.sizes.assign(sizes.begin(), sizes.end());
  const std::vector<io::BlockKey> requests = RequestsOf(routes, replay.steps);
  replay.requests = requests.size();
  const size_t keys = routes.header.layers * routes.header.experts;
  const size_t round = requests.size() / std::max<size_t>(replay.steps, 1);
  for (const std::string_view name : policies) {
    PolicyReplay row{std::string(name), {}};
    for (const CacheSize& size : sizes) {
      const auto policy = io::MakePolicy(name, {size.slots, keys, round});
      row.hits.push_back(policy ? io::Replay(*policy, size.slots, requests).hits : 0);
    }
    replay.policies.push_back(std::move(row));
  }
  PolicyReplay bound{"belady", {}};
  for (const CacheSize& size : sizes) {
    io::BeladyPolicy policy(size.slots, requests);
    bound.hits.push_back(io::Replay(policy, size.slots, requests).hits);
  }
  replay.policies.push_back(std::move(bound));
  ScoreAll(routes, replay);
  return replay;
}

std::string ReplayTable(const RoutesReplay& replay) {
  std::string out = fmt::format("{} steps, {} uses of experts; found in a cache of\n{:<10}",
                                replay.steps, replay.requests, "");
  for (const CacheSize& size : replay.sizes) {
    out += fmt::format("{:>20}", fmt::format("{} ({})", size.label, size.slots));
  }
  out += "\n";
  const PolicyReplay& bound = replay.policies.back();
  for (const PolicyReplay& row : replay.policies) {
    out += fmt::format("{:<10}", row.policy);
    for (size_t i = 0; i < row.hits.size(); ++i) {
      out += fmt::format("{:>20}",
                         fmt::format("{:.2f} % ({:.3f})", 100 * Share(row.hits[i], replay.requests),
                                     bound.hits[i] == 0 ? 1 : Share(row.hits[i], bound.hits[i])));
    }
    out += "\n";
  }
  out += "in brackets: the part of what Belady's optimum finds, which knows the future\n";
  out += fmt::format(
      "recall of the next layer's router {}, in layers where it was looked at in time; of the "
      "previous "
      "token's routes {}\n",
      RateText(replay.next), RateText(replay.previous));
  return out;
}

Json ReplayJson(const RoutesReplay& replay) {
  Json sizes = Json::array();
  for (const CacheSize& size : replay.sizes) {
    sizes.push_back({{"asked", size.label}, {"slots", size.slots}});
  }
  Json policies = Json::array();
  for (const PolicyReplay& row : replay.policies) {
    Json rates = Json::array();
    for (const uint64_t hits : row.hits) rates.push_back(Share(hits, replay.requests));
    policies.push_back({{"policy", row.policy}, {"hits", row.hits}, {"hit_rate", rates}});
  }
  Json layers = Json::array();
  for (const LayerRecall& layer : replay.layers) {
    layers.push_back({{"layer", layer.layer},
                      {"next", RateJson(layer.next)},
                      {"previous", RateJson(layer.previous)}});
  }
  return {{"schema", "penstock.replay.v1"},
          {"steps", replay.steps},
          {"uses", replay.requests},
          {"caches", sizes},
          {"policies", policies},
          {"recall", {{"next", RateJson(replay.next)}, {"previous", RateJson(replay.previous)}}},
          {"layers", layers}};
}

}  // namespace penstock::k3
