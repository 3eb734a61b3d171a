#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "models/k3/synth/values.h"

namespace penstock::k3 {

// Elements [first, ...) of a matrix of kRows or kTrained as BF16, from the random numbers that
// belong to `key`: sixteen bits an element choose a quantile. out.data() is even. Re-entrant.
void FillRows(uint64_t key, const Recipe& recipe, uint64_t first, std::span<std::byte> out);

}  // namespace penstock::k3
