#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "io/safetensors/dtype.h"

namespace penstock::k3 {

// What is done to the elements of a matrix by row and column: a draw is multiplied by rows[r] and
// columns[c], then common[c] is added. An empty vector changes nothing.
struct Gains {
  std::vector<float> rows;
  std::vector<float> columns;
  std::vector<float> common;
};

// How the elements of a random tensor are distributed.
struct Recipe {
  enum class Kind : uint8_t {
    kNormal,   // BF16 or F32: mean and spread (standard deviation), cut at 3.5 spreads.
    kUniform,  // BF16 or F32: mean +- spread.
    kRows,     // BF16: normal in rows of `row` elements, with gains.
    kTrained,  // BF16: as kRows, but a row's spread varies by a quarter, and one row in four, by
               // chance, is heavy-tailed: Student's t with four degrees of freedom. The exponents
               // then have the entropy of trained weights, 2.65 bits.
    kCodes,    // U8: two MXFP4 codes, all 16 equally likely.
    kScales,   // U8: E8M0 scales 2^(n - 127) with n one of exponent - 1, exponent, exponent + 1.
  };
  Kind kind = Kind::kNormal;
  float mean = 0;
  float spread = 1;
  uint8_t exponent = 127;
  uint64_t used = UINT64_MAX;          // Elements behind the first `used` are zero.
  uint64_t row = 0;                    // Elements of a row: kRows and kTrained.
  std::shared_ptr<const Gains> gains;  // Null: none.
};

// The scale exponent of kScales for which MXFP4 weights have about this standard deviation.
uint8_t ScaleExponent(double deviation);

// Fills `out` with elements [first, ...) of the tensor `name`: a function of seed, name, recipe and
// position only, whatever the split into calls. out.size() is a multiple of the element size; for
// U8 kinds `first` is a multiple of 8. kRows and kTrained may differ in the last bit between
// versions of the C library's exp and cos. Re-entrant.
void FillValues(uint64_t seed, std::string_view name, io::Dtype dtype, const Recipe& recipe,
                uint64_t first, std::span<std::byte> out);

}  // namespace penstock::k3
