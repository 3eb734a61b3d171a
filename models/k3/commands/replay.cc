#include "models/k3/commands/replay.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "io/cache/eviction/policies.h"
#include "models/k3/experts/replay.h"
#include "runtime/options/command_line.h"

namespace penstock::k3 {
namespace {

const CommandLine kReplay{
    .name = "penstock replay",
    .summary =
        "Replays the routes of a run: how often caches of some sizes would have found an expert, "
        "under each policy and at best, and how many experts the predictors name.",
    .positional = "routes",
    .examples = {"penstock generate -m DIR -p \"Once\" -n 100 --routes run.routes",
                 "penstock replay run.routes",
                 "penstock replay --routes run.routes --cache 64,25%,40G --policy lru --json"}};

struct ReplayOptions {
  std::string routes;
  std::string cache = "5%,10%,25%,50%";
  std::string policy = "all";
  bool json = false;

  template <class Self, class V>
  static void Visit(Self& c, V&& v) {
    v("routes", c.routes, "File that `penstock generate --routes` has written.");
    v("cache", c.cache,
      "Sizes of the cache, with commas: experts (\"64\"), bytes (\"2G\"), a share of all experts "
      "(\"25%\").");
    v("policy", c.policy, {"all", "round", "lru", "lfu", "sieve"},
      "What makes room when the cache is full; beside it always Belady's optimum.");
    v("json", c.json, "The result as JSON.");
  }
};

Result<std::string> Replayed(const ReplayOptions& options) {
  if (options.routes.empty()) return Refused("expected a file of routes: --routes FILE");
  PENSTOCK_TRY(const Routes routes, ReadRoutes(options.routes));
  if (routes.routes.empty()) {
    return Refused(fmt::format("{} holds no step, expected one at least", options.routes));
  }
  PENSTOCK_TRY(const std::vector<CacheSize> sizes, ParseCacheSizes(options.cache, routes));
  const std::string_view one[] = {options.policy};
  const RoutesReplay replay =
      ReplayRoutes(routes, sizes, options.policy == "all" ? io::PolicyNames() : std::span(one));
  return options.json ? ReplayJson(replay).dump(2) + "\n" : ReplayTable(replay);
}

}  // namespace

int RunReplay(Console& console, std::span<const std::string> arguments) {
  ReplayOptions options;
  OptionSet rows;
  rows.Add("replay", options);
  const auto parsed = ParseCommandLine(kReplay, arguments, rows);
  if (!parsed) return console.Fail(parsed.error());
  const Result<std::string> text =
      *parsed == Parsed::kHelp ? FormatHelp(kReplay, rows) : Replayed(options);
  if (!text) return console.Fail(text.error());
  return console.Answer(*text);
}

}  // namespace penstock::k3
