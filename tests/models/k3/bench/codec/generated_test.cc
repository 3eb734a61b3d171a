#include "models/k3/bench/codec/generated.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "tests/models/k3/bench/codec/go_on.h"

namespace penstock::k3 {
namespace {

// Bits of entropy of the eight bits of each weight from bit `shift` on.
double Entropy(std::span<const uint16_t> weights, int shift) {
  std::array<double, 256> counts{};
  for (const uint16_t weight : weights) ++counts[(weight >> shift) & 0xff];
  double bits = 0;
  for (const double count : counts) {
    const double share = count / static_cast<double>(weights.size());
    if (share > 0) bits -= share * std::log2(share);
  }
  return bits;
}

std::span<const uint16_t> ElementsOf(const Weights& weights) {
  return {reinterpret_cast<const uint16_t*>(weights.memory.data()), weights.bytes / 2};
}

TEST(Generated, EntropiesAreThoseOfTrainedWeights) {
  const auto weights = GenerateWeights(1, size_t{8} << 20, 2, kGoOn);
  ASSERT_TRUE(weights);
  EXPECT_NEAR(Entropy(ElementsOf(*weights), 7), 2.648, 0.01);
  EXPECT_NEAR(Entropy(ElementsOf(*weights), 8), 2.753, 0.01);
  EXPECT_GT(Entropy(ElementsOf(*weights), 0), 7.9);  // The low byte is noise.
}

TEST(Generated, OneRowInFourIsHeavyTailed) {
  constexpr size_t kRows = 400;
  std::vector<uint16_t> weights(kRows * kGeneratedRow);
  GenerateRows(3, 0, weights);
  size_t heavy = 0;
  for (size_t row = 0; row < kRows; ++row) {
    double second = 0, fourth = 0;
    for (size_t i = 0; i < kGeneratedRow; ++i) {
      const uint32_t bits = uint32_t{weights[row * kGeneratedRow + i]} << 16;
      float value = 0;
      std::memcpy(&value, &bits, 4);
      second += std::pow(value, 2);
      fourth += std::pow(value, 4);
    }
    // 3 for a normal distribution, 9 for Student's with five degrees.
    heavy += fourth * kGeneratedRow / (second * second) > 4;
  }
  EXPECT_GT(heavy, kRows / 5);
  EXPECT_LT(heavy, kRows * 3 / 10);
}

TEST(Generated, DoesNotDependOnTheSplitOrTheThreads) {
  const size_t bytes = 2 * (200 * kGeneratedRow + 1001);
  const auto one = GenerateWeights(5, bytes, 1, kGoOn);
  const auto three = GenerateWeights(5, bytes + 1, 3, kGoOn);
  ASSERT_TRUE(one && three);
  ASSERT_EQ(one->bytes, bytes);
  ASSERT_EQ(three->bytes, bytes);
  EXPECT_EQ(std::memcmp(one->memory.data(), three->memory.data(), bytes), 0);
  std::vector<uint16_t> row(101);
  GenerateRows(5, 17, row);
  EXPECT_EQ(std::memcmp(row.data(), one->memory.data() + 2 * 17 * kGeneratedRow, 2 * row.size()),
            0);
  GenerateRows(6, 17, row);
  EXPECT_NE(std::memcmp(row.data(), one->memory.data() + 2 * 17 * kGeneratedRow, 2 * row.size()),
            0);
}

TEST(Generated, StripesTileTheWeightsInWholeRows) {
  const auto weights = GenerateWeights(1, kStripeBytes + 30000, 2, kGoOn);
  ASSERT_TRUE(weights);
  const std::byte* at = weights->memory.data();
  for (const auto& stripe : weights->stripes) {
    EXPECT_EQ(stripe.data(), at);
    EXPECT_EQ(static_cast<size_t>(at - weights->memory.data()) % (2 * kGeneratedRow), 0u);
    EXPECT_LE(stripe.size(), kStripeBytes);
    at += stripe.size();
  }
  EXPECT_EQ(at, weights->memory.data() + weights->bytes);
  EXPECT_EQ(weights->stripes.size(), 2u);
}

TEST(Generated, StopsWhenTold) {
  const auto weights =
      GenerateWeights(1, size_t{8} << 20, 1, [](uint64_t done) { return done == 0; });
  ASSERT_FALSE(weights);
  EXPECT_EQ(weights.error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace penstock::k3
