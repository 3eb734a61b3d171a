#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/memory/region.h"

namespace penstock::k3 {

// bf16 weights in memory that a benchmark works on: stripes, one behind the other, each of which is
// coded with statistics of its own.
struct Weights {
  std::string name;  // As in results: "syn", "trunk".
  HugeRegion memory;
  size_t bytes = 0;
  std::vector<std::span<const std::byte>> stripes;  // In `memory`, without gaps.
};

// Bytes of a stripe, at most.
inline constexpr size_t kStripeBytes = size_t{8} << 20;

}  // namespace penstock::k3
