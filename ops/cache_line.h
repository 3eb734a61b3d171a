#pragma once

#include <cstddef>

namespace penstock::ops {

// Vectors that lie one behind the other begin at boundaries of 64 bytes.
inline constexpr size_t kLineFloats = 16;

constexpr size_t PaddedToLine(size_t floats) {
  return (floats + kLineFloats - 1) / kLineFloats * kLineFloats;
}

}  // namespace penstock::ops
