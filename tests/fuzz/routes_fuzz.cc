// Routes that a run has recorded. What is accepted must keep what replay relies on: layers and
// experts below the header's, none twice, (step, position, layer) growing.
// covers: models/k3/experts/routes

#include <cstdint>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>

#include "models/k3/experts/routes.h"
#include "runtime/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace penstock::k3;
  std::istringstream lines(std::string(reinterpret_cast<const char*>(data), size));
  const auto routes = ParseRoutes(lines, "fuzz.jsonl");
  if (!routes) {
    PENSTOCK_CHECK(!routes.error().message.empty());
    return 0;
  }
  const RoutesHeader& header = routes->header;
  PENSTOCK_CHECK(header.layers > 0 && header.top_k > 0 && header.top_k <= header.experts);
  std::string again = RoutesLine(header);
  const Route* last = nullptr;
  for (const Route& route : routes->routes) {
    PENSTOCK_CHECK(route.layer < header.layers && !route.chosen.empty());
    PENSTOCK_CHECK(last == nullptr || std::tie(last->n, last->position, last->layer) <
                                          std::tie(route.n, route.position, route.layer));
    last = &route;
    for (const auto* experts : {&route.chosen, &route.next}) {
      PENSTOCK_CHECK(experts->size() <= header.top_k);
      PENSTOCK_CHECK(std::set(experts->begin(), experts->end()).size() == experts->size());
      for (const uint32_t expert : *experts) PENSTOCK_CHECK(expert < header.experts);
    }
    again += RoutesLine(route);
  }
  std::istringstream more(again);
  const auto same = ParseRoutes(more, "again.jsonl");
  PENSTOCK_CHECK(same && same->routes.size() == routes->routes.size());
  return 0;
}
