#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::k3 {

// The rows of comparators.h that need AVX2, compiled for it: raw pointers only. Null where this
// build has none.
struct Avx2Rows {
  float (*table)(const uint8_t* codes, const uint8_t* scales, size_t cols, const float* by_nibble,
                 const float* powers);
  float (*int8)(const uint8_t* codes, const uint8_t* scales, size_t cols, const int8_t* rounded,
                const int32_t* corrections, const float* steps, const float* powers);
};
const Avx2Rows* BuiltAvx2Rows();

}  // namespace penstock::k3
