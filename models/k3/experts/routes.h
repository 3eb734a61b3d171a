#pragma once

#include <cstdint>
#include <iosfwd>
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

// The experts of one layer at one position. A step of several positions demands in each layer what any
// of them chose, each expert once, those of the earliest position first.
struct Route {
  uint64_t n = 0;         // The step, as its event counts.
  uint64_t position = 0;  // In the sequence, from 0; again in a later step after a refused draft.
  uint32_t layer = 0;
  std::vector<uint32_t> chosen;  // In router order.
  std::vector<uint32_t> next;    // As predicted from the layer before, best first; may be empty.
};

struct Routes {
  RoutesHeader header;
  std::vector<Route> routes;  // By step, then position, then layer.
};

// Lines of a file of routes, each with its end of line:
//   {"schema":"penstock.routes.v1","layers":..,"experts":..,"top_k":..,"expert_bytes":..,
//    "checkpoint_id":".."}
//   {"n":3,"position":17,"layer":1,"chosen":[..],"next":[..]}
// A line without a position is of a run whose steps took one each: its position is n.
std::string RoutesLine(const RoutesHeader& header);
std::string RoutesLine(const Route& route);

// Refused, with file and line, when a line is not what its header allows: a foreign schema, a layer,
// an expert or a number of them beyond the header's, an expert twice; or when (step,
// position, layer) does not grow from line to line.
Result<Routes> ReadRoutes(const std::string& path);
// The same of what has been opened; `path` is for messages.
Result<Routes> ParseRoutes(std::istream& lines, const std::string& path);

}  // namespace penstock::k3
