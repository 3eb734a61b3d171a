#include "models/k3/synth/values.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include <xxhash.h>

#include "models/k3/synth/numbers.h"
#include "models/k3/synth/rows.h"
#include "runtime/check.h"

namespace penstock::k3 {
namespace {

// The sum of four 16-bit uniforms, centred and scaled to a standard deviation of 1.
float Normal(uint64_t bits) {
  const uint32_t sum =
      (bits & 0xffff) + ((bits >> 16) & 0xffff) + ((bits >> 32) & 0xffff) + (bits >> 48);
  return (static_cast<float>(sum) - 131070.0f) * (1.0f / 37837.23f);
}

// In [-1, 1).
float Uniform(uint64_t bits) { return static_cast<float>(bits >> 40) * 0x1p-23f - 1.0f; }

template <class Draw>
void FillFloats(uint64_t key, bool bf16, const Recipe& recipe, uint64_t first,
                std::span<std::byte> out, const Draw& draw) {
  const size_t size = bf16 ? 2 : 4;
  const size_t count = out.size() / size;
  const uint64_t left = recipe.used > first ? recipe.used - first : 0;
  const size_t used = std::min<uint64_t>(count, left);
  for (size_t i = 0; i < used; ++i) {
    const float value = recipe.mean + recipe.spread * draw(Random(key, first + i));
    if (bf16) {
      const uint16_t stored = RoundToBf16(value);
      std::memcpy(out.data() + 2 * i, &stored, 2);
    } else {
      std::memcpy(out.data() + 4 * i, &value, 4);
    }
  }
  std::memset(out.data() + used * size, 0, (count - used) * size);
}

// Eight bytes from each random number.
template <class Make>
void FillBytes(uint64_t key, uint64_t first, std::span<std::byte> out, const Make& make) {
  for (size_t at = 0; at < out.size(); at += 8) {
    const uint64_t word = make(Random(key, (first + at) / 8));
    std::memcpy(out.data() + at, &word, std::min<size_t>(8, out.size() - at));
  }
}

}  // namespace

uint8_t ScaleExponent(double deviation) {
  // Root mean square of the sixteen codes, and of 1/2, 1 and 2.
  const double codes = std::sqrt(68.5 / 8), scales = std::sqrt((0.25 + 1 + 4) / 3);
  const double exponent = std::round(std::log2(deviation / (codes * scales)));
  return static_cast<uint8_t>(std::clamp(127 + exponent, 2.0, 252.0));
}

void FillValues(uint64_t seed, std::string_view name, io::Dtype dtype, const Recipe& recipe,
                uint64_t first, std::span<std::byte> out) {
  const uint64_t key = XXH3_64bits_withSeed(name.data(), name.size(), seed);
  const bool bf16 = dtype == io::Dtype::kBF16;
  switch (recipe.kind) {
    case Recipe::Kind::kNormal:
      return FillFloats(key, bf16, recipe, first, out, Normal);
    case Recipe::Kind::kUniform:
      return FillFloats(key, bf16, recipe, first, out, Uniform);
    case Recipe::Kind::kRows:
    case Recipe::Kind::kTrained:
      PENSTOCK_CHECK(bf16);
      return FillRows(key, recipe, first, out);
    case Recipe::Kind::kCodes:
      PENSTOCK_CHECK(first % 8 == 0);
      return FillBytes(key, first, out, [](uint64_t bits) { return bits; });
    case Recipe::Kind::kScales:
      PENSTOCK_CHECK(first % 8 == 0);
      return FillBytes(key, first, out, [&](uint64_t bits) {
        uint64_t word = 0;
        for (int i = 0; i < 64; i += 8) {
          word |= (recipe.exponent - 1 + ((bits >> i) & 0xff) % 3) << i;
        }
        return word;
      });
  }
}

}  // namespace penstock::k3
