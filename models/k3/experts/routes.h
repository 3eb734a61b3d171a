#pragma once

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "runtime/result.h"

namespace penstock::k3 {

inline constexpr const char* kRoutesSchema = "penstock.routes.v1";

// What routes belong to: the first line of a file of routes.
struct RoutesHeader {
  uint64_t layers = 0;        // Of the model, dense ones counted.
  uint64_t experts = 0;       // Of a layer.
  uint64_t top_k = 0;         // Chosen of them at a position.
  uint64_t expert_bytes = 0;  // What one takes in a cache.
  std::string checkpoint_id;
};

// The experts of one layer in one step.
struct Route {
  uint64_t n = 0;  // The step.
  uint32_t layer = 0;
  std::vector<uint32_t> chosen;  // In router order.
  std::vector<uint32_t> next;    // As predicted from the layer before, best first; may be empty.
};

struct Routes {
  RoutesHeader header;
  std::vector<Route> routes;  // In order of use.
};

// Lines of a file of routes, each with its end of line:
//   {"schema":"penstock.routes.v1","layers":..,"experts":..,"top_k":..,"expert_bytes":..,
//    "checkpoint_id":".."}
//   {"n":0,"layer":1,"chosen":[..],"next":[..]}
std::string RoutesLine(const RoutesHeader& header);
std::string RoutesLine(uint64_t n, uint32_t layer, std::span<const uint32_t> chosen,
                       std::span<const uint32_t> next);

// Refused, with file and line, when a line is not what its header allows: a foreign schema, a layer,
// an expert or a number of them beyond the header's, an expert twice, steps or layers that go back.
Result<Routes> ReadRoutes(const std::string& path);
// The same of what has been opened; `path` is for messages.
Result<Routes> ParseRoutes(std::istream& lines, const std::string& path);

}  // namespace penstock::k3
