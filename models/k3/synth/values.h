#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "io/safetensors/dtype.h"

namespace penstock::k3 {

// How the elements of a random tensor are distributed.
struct Recipe {
  enum class Kind : uint8_t {
    kNormal,   // BF16 or F32: mean and spread (standard deviation), cut at 3.5 spreads.
    kUniform,  // BF16 or F32: mean +- spread.
    kCodes,    // U8: two MXFP4 codes, all 16 equally likely.
    kScales,   // U8: E8M0 scales 2^(n - 127) with n one of exponent - 1, exponent, exponent + 1.
  };
  Kind kind = Kind::kNormal;
  float mean = 0;
  float spread = 1;
  uint8_t exponent = 127;
  uint64_t used = UINT64_MAX;  // Elements behind the first `used` are zero.
};

// The scale exponent of kScales for which MXFP4 weights have about this standard deviation.
uint8_t ScaleExponent(double deviation);

// Fills `out` with elements [first, ...) of the tensor `name`: a function of seed, name, recipe and
// position only, whatever the split into calls. out.size() is a multiple of the element size; for
// U8 kinds `first` is a multiple of 8. Re-entrant.
void FillValues(uint64_t seed, std::string_view name, io::Dtype dtype, const Recipe& recipe,
                uint64_t first, std::span<std::byte> out);

}  // namespace penstock::k3
