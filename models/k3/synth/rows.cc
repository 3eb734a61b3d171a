#include "models/k3/synth/rows.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <vector>

#include "models/k3/synth/numbers.h"
#include "runtime/check.h"

namespace penstock::k3 {
namespace {

// Magnitudes at the middles of equally likely steps, few enough for the first-level cache; the
// highest of an element's sixteen bits is the sign.
constexpr size_t kQuantiles = size_t{1} << 12;
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

// Calls take(i, bits) for elements [first, first + count); four of them share 64 random bits. The
// lowest sixteen of `bits` are the element's.
template <class Take>
void ForEach(uint64_t key, uint64_t first, size_t count, const Take& take) {
  size_t i = 0;
  const auto single = [&] {
    take(i, Random(key, (first + i) / 4) >> (16 * ((first + i) % 4)));
    ++i;
  };
  while (i < count && (first + i) % 4 != 0) single();
  for (; i + 4 <= count; i += 4) {
    const uint64_t bits = Random(key, (first + i) / 4);
    for (size_t j = 0; j < 4; ++j) take(i + j, bits >> (16 * j));
  }
  while (i < count) single();
}

float Signed(float magnitude, uint64_t bits) {
  const uint32_t sign = (static_cast<uint32_t>(bits) & 0x8000) << 16;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
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

// Part of a row.
struct Part {
  uint64_t first = 0;  // Element of the matrix,
  size_t column = 0;   // and of its row.
  size_t count = 0;
  uint16_t* out = nullptr;
};

// Rounds every magnitude once: for parts that are longer than there are magnitudes.
void FillLong(uint64_t key, const Quantiles& quantiles, float scale, const Part& part) {
  std::array<uint16_t, kQuantiles> stored;
  for (size_t i = 0; i < kQuantiles; ++i) stored[i] = RoundToBf16(scale * quantiles[i]);
  ForEach(key, part.first, part.count, [&](size_t i, uint64_t bits) {
    part.out[i] = static_cast<uint16_t>(stored[bits & (kQuantiles - 1)] | (bits & 0x8000));
  });
}

void FillGained(uint64_t key, const Quantiles& quantiles, float scale, const Gains& gains,
                const Part& part) {
  ForEach(key, part.first, part.count, [&](size_t i, uint64_t bits) {
    const size_t column = part.column + i;
    float value = Signed(scale * quantiles[bits & (kQuantiles - 1)], bits);
    if (!gains.columns.empty()) value *= gains.columns[column];
    if (!gains.common.empty()) value += gains.common[column];
    part.out[i] = RoundToBf16(value);
  });
}

}  // namespace

void FillRows(uint64_t key, const Recipe& recipe, uint64_t first, std::span<std::byte> out) {
  static const Quantiles normal = NormalQuantiles(), student = StudentQuantiles();
  static const Gains none;
  PENSTOCK_CHECK(recipe.row > 0 && reinterpret_cast<uintptr_t>(out.data()) % 2 == 0);
  const Gains& gains = recipe.gains ? *recipe.gains : none;
  const size_t elements = out.size() / 2;
  Part part;
  for (size_t at = 0; at < elements; at += part.count) {
    const uint64_t row = (first + at) / recipe.row;
    part.first = first + at;
    part.column = part.first % recipe.row;
    part.count = std::min<uint64_t>(elements - at, recipe.row - part.column);
    part.out = reinterpret_cast<uint16_t*>(out.data()) + at;
    const RowForm form = FormOf(key, recipe.kind, row);
    const Quantiles& quantiles = form.heavy ? student : normal;
    float scale = recipe.spread * form.factor;
    if (!gains.rows.empty()) scale *= gains.rows[row];
    const bool plain = gains.columns.empty() && gains.common.empty();
    if (plain && part.count > kQuantiles) {
      FillLong(key, quantiles, scale, part);
    } else {
      FillGained(key, quantiles, scale, gains, part);
    }
  }
}

}  // namespace penstock::k3
