#include "models/k3/synth/rows.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

#include "models/k3/synth/numbers.h"
#include "runtime/check.h"

namespace penstock::k3 {
namespace {

// Magnitudes at the middles of 2^15 equally likely steps; the sixteenth bit is the sign.
constexpr size_t kQuantiles = size_t{1} << 15;
using Quantiles = std::vector<float>;

// Newton's method from one step to the next: the upper tail is erfc(x / sqrt 2).
Quantiles NormalQuantiles() {
  Quantiles out(kQuantiles);
  double x = 0;
  for (size_t i = 0; i < kQuantiles; ++i) {
    const double tail = 1 - (static_cast<double>(i) + 0.5) / kQuantiles;
    for (int round = 0; round < 6; ++round) {
      const double density = 2 * std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
      x += (std::erfc(x / std::numbers::sqrt2) - tail) / density;
    }
    out[i] = static_cast<float>(x);
  }
  return out;
}

// Student's t with four degrees of freedom has its quantiles in closed form (Shaw 2006).
Quantiles StudentQuantiles() {
  Quantiles out(kQuantiles);
  for (size_t i = 0; i < kQuantiles; ++i) {
    const double u = 0.5 + 0.5 * (static_cast<double>(i) + 0.5) / kQuantiles;
    const double root = std::sqrt(4 * u * (1 - u));
    out[i] = static_cast<float>(2 * std::sqrt(std::cos(std::acos(root) / 3) / root - 1));
  }
  return out;
}

uint64_t Random(uint64_t key, uint64_t n) { return SplitMix(key + (n + 1) * kSplitMixStep); }

// Draws [first, first + out.size()); four of them share 64 random bits.
void Draw(uint64_t key, const Quantiles& quantiles, uint64_t first, std::span<float> out) {
  uint64_t bits = Random(key, first / 4) >> (16 * (first % 4));
  for (size_t i = 0; i < out.size(); ++i, bits >>= 16) {
    if ((first + i) % 4 == 0) bits = Random(key, (first + i) / 4);
    const uint32_t sign = (static_cast<uint32_t>(bits) & 0x8000) << 16;
    const float magnitude = quantiles[bits & (kQuantiles - 1)];
    out[i] = std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }
}

struct RowForm {
  float factor = 1;
  bool heavy = false;
};

RowForm FormOf(uint64_t key, Recipe::Kind kind, uint64_t row) {
  if (kind == Recipe::Kind::kRows) return {};
  const uint64_t bits = SplitMix(SplitMix(~key) + row);
  // The sum of four uniform numbers of 15 bits, with a standard deviation of 1.
  int64_t sum = 0;
  for (int i = 0; i < 4; ++i) sum += (bits >> (15 * i)) & 0x7fff;
  const float normal = static_cast<float>(sum - 2 * 0x7fff) * (1.0f / 18918.6f);
  const float root = 1 + 0.125f * normal;  // Squared: near exp(normal / 4), and never negative.
  return {root * root, bits >> 62 == 0};
}

}  // namespace

void FillRows(uint64_t key, const Recipe& recipe, uint64_t first, std::span<std::byte> out) {
  static const Quantiles normal = NormalQuantiles(), student = StudentQuantiles();
  static const Gains none;
  PENSTOCK_CHECK(recipe.row > 0);
  const Gains& gains = recipe.gains ? *recipe.gains : none;
  std::array<float, 1024> draws;
  std::array<uint16_t, 1024> stored;
  for (size_t at = 0, count = 0; at < out.size() / 2; at += count) {
    const uint64_t row = (first + at) / recipe.row, column = (first + at) % recipe.row;
    count = std::min({out.size() / 2 - at, draws.size(), size_t{recipe.row - column}});
    const RowForm form = FormOf(key, recipe.kind, row);
    Draw(key, form.heavy ? student : normal, first + at, std::span(draws).first(count));
    float scale = recipe.spread * form.factor;
    if (!gains.rows.empty()) scale *= gains.rows[row];
    for (size_t i = 0; i < count; ++i) draws[i] *= scale;
    if (!gains.columns.empty()) {
      for (size_t i = 0; i < count; ++i) draws[i] *= gains.columns[column + i];
    }
    if (!gains.common.empty()) {
      for (size_t i = 0; i < count; ++i) draws[i] += gains.common[column + i];
    }
    for (size_t i = 0; i < count; ++i) stored[i] = RoundToBf16(draws[i]);
    std::memcpy(out.data() + 2 * at, stored.data(), 2 * count);
  }
}

}  // namespace penstock::k3
