#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "models/k3/bench/codec/weights.h"
#include "runtime/result.h"

namespace penstock::k3 {

// Random weights that are distributed as trained ones are. Rows of 7168; a row has a scale of
// 0.02 * exp(0.25 g), g normal, and one row in four, by chance, is heavy-tailed: Student's t with
// five degrees of freedom in place of a normal distribution. Rounded to nearest, ties to even. The
// entropy of the 8 exponent bits is 2.648 bits, that of the high byte 2.753.
inline constexpr size_t kGeneratedRow = 7168;

// Fills `out` with rows [first_row, ...), the last of which may be cut short: a function of seed and
// row alone, whatever the split into calls. Values may differ in the last bit between versions of
// the C library's log and cos. Re-entrant.
void GenerateRows(uint64_t seed, uint64_t first_row, std::span<uint16_t> out);

// So many bytes (rounded down to whole elements) of them, made by `threads` threads. `go_on` is
// called on the caller's thread with the bytes made so far; false ends it with kCancelled.
Result<Weights> GenerateWeights(uint64_t seed, size_t bytes, size_t threads,
                                const std::function<bool(uint64_t done)>& go_on);

}  // namespace penstock::k3
