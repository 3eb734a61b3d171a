#include "models/k3/experts/routes.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <istream>
#include <optional>
#include <system_error>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/options/options.h"

namespace penstock::k3 {
namespace {

// No model has more; a file that claims it would make tables of any size.
constexpr uint64_t kMostLayers = 4096;
constexpr uint64_t kMostExperts = 65536;
constexpr uint64_t kMostInAll = uint64_t{1} << 22;  // The policies keep tables of them.

std::optional<uint64_t> Number(const Json& line, const char* key, uint64_t most) {
  const auto found = line.find(key);
  if (found == line.end() || !found->is_number_unsigned()) return std::nullopt;
  const auto value = found->get<uint64_t>();
  if (value > most) return std::nullopt;
  return value;
}

// At most top_k different experts.
std::optional<std::vector<uint32_t>> ExpertIds(const Json& line, const char* key,
                                               const RoutesHeader& header) {
  const auto found = line.find(key);
  if (found == line.end() || !found->is_array() || found->size() > header.top_k) {
    return std::nullopt;
  }
  std::vector<uint32_t> experts;
  for (const Json& id : *found) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() >= header.experts) return std::nullopt;
    experts.push_back(id.get<uint32_t>());
    if (std::find(experts.begin(), experts.end() - 1, experts.back()) != experts.end() - 1) {
      return std::nullopt;
    }
  }
  return experts;
}

// Lines come by it, each beyond the one before.
std::tuple<uint64_t, uint64_t, uint32_t> Order(const Route& route) {
  return {route.n, route.position, route.layer};
}

class Parser {
 public:
  explicit Parser(const std::string& path) : path_(path) {}

  Result<Routes> Read(std::istream& lines) {
    for (std::string text; std::getline(lines, text);) {
      ++line_;
      const Json line = Json::parse(text, nullptr, false);
      if (!line.is_object()) return Bad("expected a JSON object");
      PENSTOCK_TRY_VOID(line_ == 1 ? Header(line) : Step(line));
    }
    if (line_ == 0) return Refused(fmt::format("{} is empty, expected a file of routes", path_));
    return std::move(routes_);
  }

 private:
  Error Bad(const std::string& what) const {
    return Refused(fmt::format("{}, line {}: {}", path_, line_, what));
  }

  Status Header(const Json& line) {
    if (line.value("schema", Json()) != kRoutesSchema) {
      return Bad(fmt::format("expected the schema {}", kRoutesSchema));
    }
    const auto layers = Number(line, "layers", kMostLayers);
    const auto experts = Number(line, "experts", kMostExperts);
    const auto top_k = Number(line, "top_k", kMostExperts);
    if (!layers || !experts || !top_k || *top_k == 0 || *top_k > *experts || *layers == 0 ||
        *layers * *experts > kMostInAll) {
      return Bad("expected numbers \"layers\", \"experts\" and \"top_k\" that go together");
    }
    RoutesHeader& header = routes_.header;
    header.layers = *layers;
    header.experts = *experts;
    header.top_k = *top_k;
    header.expert_bytes = Number(line, "expert_bytes", ~uint64_t{0}).value_or(0);
    const auto id = line.find("checkpoint_id");
    if (id != line.end() && id->is_string()) header.checkpoint_id = id->get<std::string>();
    return {};
  }

  Status Step(const Json& line) {
    const RoutesHeader& header = routes_.header;
    Route route;
    const auto n = Number(line, "n", ~uint64_t{0});
    const auto position = line.contains("position") ? Number(line, "position", ~uint64_t{0}) : n;
    const auto layer = Number(line, "layer", header.layers - 1);
    if (!n || !position || !layer) {
      return Bad(fmt::format("expected a step \"n\", a \"position\" and a \"layer\" below {}",
                             header.layers));
    }
    route.n = *n;
    route.position = *position;
    route.layer = static_cast<uint32_t>(*layer);
    auto chosen = ExpertIds(line, "chosen", header);
    auto next = ExpertIds(line, "next", header);
    if (!chosen || chosen->empty() || !next) {
      return Bad(
          fmt::format("expected \"chosen\" and \"next\" with at most {} different experts "
                      "below {}",
                      header.top_k, header.experts));
    }
    route.chosen = std::move(*chosen);
    route.next = std::move(*next);
    if (!routes_.routes.empty()) {
      const Route& last = routes_.routes.back();
      if (Order(route) <= Order(last)) {
        return Bad(
            fmt::format("expected (step, position, layer) beyond ({}, {}, {}), got ({}, {}, {})",
                        last.n, last.position, last.layer, route.n, route.position, route.layer));
      }
    }
    routes_.routes.push_back(std::move(route));
    return {};
  }

  const std::string& path_;
  uint64_t line_ = 0;
  Routes routes_;
};

}  // namespace

std::string RoutesLine(const RoutesHeader& header) {
  const Json line = {{"schema", kRoutesSchema},
                     {"layers", header.layers},
                     {"experts", header.experts},
                     {"top_k", header.top_k},
                     {"expert_bytes", header.expert_bytes},
                     {"checkpoint_id", header.checkpoint_id}};
  return line.dump() + "\n";
}

std::string RoutesLine(const Route& route) {
  return fmt::format("{{\"n\":{},\"position\":{},\"layer\":{},\"chosen\":[{}],\"next\":[{}]}}\n",
                     route.n, route.position, route.layer, fmt::join(route.chosen, ","),
                     fmt::join(route.next, ","));
}

Result<Routes> ReadRoutes(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored)) {
    return Refused(fmt::format("{} is no regular file, expected a file of routes", path));
  }
  std::ifstream file(path);
  if (!file) return Refused(fmt::format("{} cannot be opened", path));
  return ParseRoutes(file, path);
}

Result<Routes> ParseRoutes(std::istream& lines, const std::string& path) {
  return Parser(path).Read(lines);
}

}  // namespace penstock::k3
