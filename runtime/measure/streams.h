#pragma once

#include <cstddef>
#include <span>

namespace penstock {

// What reading memory costs on one thread: the bound of whatever streams through weights. Sums
// `values` in `streams` (1, 4 or 8) equal parts side by side, with instructions that every CPU has;
// what 64-byte lines of a part leave over is not read. One linear stream may report up to 1.8 times
// too little: take the best of the three.
double SumStreams(std::span<const float> values, int streams);

}  // namespace penstock
