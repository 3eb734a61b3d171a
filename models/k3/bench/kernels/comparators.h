#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// Other ways to multiply a stored matrix by one vector, which the kernels are compared with. None
// is used by the product. Matrices are as in ops/kernels/kernels.h; columns are a multiple of 64.
namespace penstock::k3 {

// One vector in the forms that the comparators take.
struct ComparatorInput {
  explicit ComparatorInput(std::span<const float> values);

  std::vector<float> x;
  std::vector<float> by_nibble;      // [block of 64][nibble of a 32-bit word][8 words]
  std::vector<int8_t> rounded;       // [block][low nibbles' 32, high nibbles' 32]
  std::vector<int32_t> corrections;  // [block][8]: 12 times the sum of the values of a 32-bit lane
  std::vector<float> steps;          // [block][8]: half the size of a step of `rounded`
  std::vector<float> powers;         // [256]: E8M0 scales as floats
};

struct Mxfp4Rows {
  const uint8_t* packed;
  const uint8_t* scales;
  size_t rows;
  size_t cols;
};

// Plain loops in double: exact but for the last rounding.
void Mxfp4PlainDouble(const Mxfp4Rows& w, const ComparatorInput& x, float* y);

// Exact: magnitudes from a permuted table, signs by XOR. Null without AVX2.
// The raw-pointer functions of avx2.cc do the rows.
using Mxfp4Comparator = void (*)(const Mxfp4Rows& w, const ComparatorInput& x, float* y);
Mxfp4Comparator Mxfp4TableLookup();

// Lossy: x rounded to 8 bits by groups of 32 columns, the idea of the widely used public kernels.
// Null without AVX2.
Mxfp4Comparator Mxfp4RoundedToInt8();

// Eigen's cast of every element, then its product.
void Bf16EigenCast(const uint16_t* w, size_t rows, size_t cols, const float* x, float* y);

}  // namespace penstock::k3
