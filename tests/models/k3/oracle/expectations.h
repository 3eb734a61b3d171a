#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/result.h"

namespace penstock::k3::oracle {

// One prompt of k3-tiny-expected.json: greedy continuation by an independent float64 evaluation of
// the stored values (see the file's note).
struct Expectation {
  std::string text;
  std::vector<uint32_t> ids;
  std::vector<uint32_t> greedy;
  std::string greedy_text;
  std::vector<std::pair<uint32_t, double>> top5;  // Last prompt position; empty when not given.
  std::vector<float> logits;                      // [vocab] likewise; empty when not given.
  double min_margin = 0;         // Smallest gap of the two best logits along the greedy path.
  double min_router_margin = 0;  // Smallest gap at the router's cut.
  std::optional<size_t> stop_index;
};

// The directory of the embedded checkpoint and its expectations.
std::string TinyDirectory();

// Reads k3-tiny-expected.json and the logits files beside it.
Result<std::vector<Expectation>> ReadTinyExpectations();

}  // namespace penstock::k3::oracle
