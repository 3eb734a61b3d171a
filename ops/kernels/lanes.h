#pragma once

// What the lane files and the bodies need from outside their unnamed namespaces.

#include <cstddef>
#include <cstdint>

#include "ops/kernels/kernels.h"
#include "runtime/check.h"

// The loops that index arrays of registers must disappear, at every optimisation level that is
// meant to be fast.
#if defined(__clang__)
#define PENSTOCK_UNROLL _Pragma("unroll")
#else
#define PENSTOCK_UNROLL _Pragma("GCC unroll 8")
#endif

// Pieces of a hot loop, whose sums must stay in registers.
#define PENSTOCK_INLINE inline __attribute__((always_inline))

namespace penstock::ops {

// 1.5 * 2^23: adding it rounds to an integer (ties to even) that stands in the low bits.
inline constexpr float kRoundShift = 12582912.0f;

}  // namespace penstock::ops
