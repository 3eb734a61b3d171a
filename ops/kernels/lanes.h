#pragma once

// What the lane files and the bodies need from outside their unnamed namespaces.

#include <cstddef>
#include <cstdint>

#include "ops/kernels/kernels.h"
#include "runtime/check.h"

// The loops that index arrays of registers must disappear, at every optimisation level that is
// meant to be fast. The scalar lanes are arrays in memory, where it would only cost compile time.
#if defined(PENSTOCK_LANES_IN_MEMORY)
#define PENSTOCK_UNROLL
#elif defined(__clang__)
#define PENSTOCK_UNROLL _Pragma("unroll")
#else
#define PENSTOCK_UNROLL _Pragma("GCC unroll 8")
#endif

// Pieces of a hot loop, whose sums must stay in registers.
#if defined(PENSTOCK_LANES_IN_MEMORY)
#define PENSTOCK_INLINE inline
#else
#define PENSTOCK_INLINE inline __attribute__((always_inline))
#endif

namespace penstock::ops {

// 1.5 * 2^23: adding it rounds to an integer (ties to even) that stands in the low bits.
inline constexpr float kRoundShift = 12582912.0f;

}  // namespace penstock::ops
