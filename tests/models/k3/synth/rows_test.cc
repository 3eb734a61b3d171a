#include "models/k3/synth/rows.h"

#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace penstock::k3 {
namespace {

std::vector<uint16_t> Filled(const Recipe& recipe, uint64_t first, size_t count, uint64_t key = 7) {
  std::vector<uint16_t> out(count);
  FillRows(key, recipe, first, std::as_writable_bytes(std::span(out)));
  return out;
}

double Value(uint16_t stored) {
  const uint32_t bits = uint32_t{stored} << 16;
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

Recipe Rows(Recipe::Kind kind, uint64_t row, float spread) {
  Recipe recipe;
  recipe.kind = kind;
  recipe.row = row;
  recipe.spread = spread;
  return recipe;
}

double ExponentEntropy(const std::vector<uint16_t>& values) {
  std::array<double, 256> counts{};
  for (const uint16_t value : values) ++counts[(value >> 7) & 0xff];
  double bits = 0;
  for (const double n : counts) {
    const double p = n / static_cast<double>(values.size());
    if (p > 0) bits -= p * std::log2(p);
  }
  return bits;
}

TEST(SynthRows, DoNotDependOnThePieces) {
  for (const auto kind : {Recipe::Kind::kRows, Recipe::Kind::kTrained}) {
    const Recipe recipe = Rows(kind, 37, 1);
    const auto whole = Filled(recipe, 0, 5000);
    for (const size_t first : {size_t{1}, size_t{2}, size_t{36}, size_t{1023}, size_t{2999}}) {
      const auto part = Filled(recipe, first, 1500);
      EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + first)) << first;
    }
    EXPECT_NE(whole, Filled(recipe, 0, 5000, 8));
  }
}

TEST(SynthRows, HaveTheMomentsOfTheirDistribution) {
  const auto values = Filled(Rows(Recipe::Kind::kRows, 1000, 3), 0, 200000);
  double sum = 0, second = 0, fourth = 0;
  for (const uint16_t stored : values) {
    const double v = Value(stored) / 3;
    sum += v, second += v * v, fourth += v * v * v * v;
  }
  EXPECT_NEAR(sum / 2e5, 0, 0.01);
  EXPECT_NEAR(second / 2e5, 1, 0.015);
  EXPECT_NEAR(fourth / 2e5, 3, 0.15);
}

// A kurtosis of 3 is normal; heavy-tailed rows have far more.
TEST(SynthRows, OneTrainedRowInFourIsHeavyTailed) {
  constexpr size_t kRow = 4000, kRows = 400;
  const auto values = Filled(Rows(Recipe::Kind::kTrained, kRow, 0.02f), 0, kRow * kRows);
  size_t heavy = 0;
  for (size_t r = 0; r < kRows; ++r) {
    double second = 0, fourth = 0;
    for (size_t i = 0; i < kRow; ++i) {
      const double v = Value(values[r * kRow + i]);
      second += v * v, fourth += v * v * v * v;
    }
    heavy += fourth * kRow / (second * second) > 4;
  }
  EXPECT_GT(heavy, kRows / 5);
  EXPECT_LT(heavy, kRows * 3 / 10);
}

TEST(SynthRows, TrainedExponentsHaveTheEntropyOfTrainedWeights) {
  EXPECT_NEAR(ExponentEntropy(Filled(Rows(Recipe::Kind::kTrained, 7168, 0.02f), 0, 7168 * 300)),
              2.65, 0.05);
}

TEST(SynthRows, GainsActByRowAndColumn) {
  constexpr size_t kRow = 8, kRows = 4;
  Recipe recipe = Rows(Recipe::Kind::kRows, kRow, 1);
  const auto plain = Filled(recipe, 0, kRow * kRows);
  auto gains = std::make_shared<Gains>();
  gains->rows = {1, 2, 4, 8};
  gains->columns.assign(kRow, 1);
  gains->columns[3] = 0;
  gains->columns[5] = 0.25;
  gains->common.assign(kRow, 0);
  gains->common[3] = 3;
  recipe.gains = gains;
  const auto gained = Filled(recipe, 0, kRow * kRows);
  for (size_t r = 0; r < kRows; ++r) {
    for (size_t c = 0; c < kRow; ++c) {
      const double expected =
          Value(plain[r * kRow + c]) * gains->rows[r] * gains->columns[c] + gains->common[c];
      EXPECT_EQ(Value(gained[r * kRow + c]), expected) << r << " " << c;
    }
  }
}

}  // namespace
}  // namespace penstock::k3
