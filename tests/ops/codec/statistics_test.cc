#include "ops/codec/statistics.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace penstock::ops {
namespace {

using Counts = std::vector<uint64_t>;

TEST(Statistics, EntropyOfClosedForms) {
  EXPECT_EQ(Entropy({}), 0);
  EXPECT_EQ(Entropy(Counts(8, 0)), 0);
  EXPECT_EQ(Entropy(Counts{0, 12345, 0}), 0);
  EXPECT_FALSE(std::signbit(Entropy(Counts{7})));
  for (const unsigned bits : {1u, 4u, 8u}) {
    EXPECT_NEAR(Entropy(Counts(size_t{1} << bits, 3)), bits, 1e-12);
  }
  const double p = 0.25;
  EXPECT_NEAR(Entropy(Counts{1, 0, 3}), -p * std::log2(p) - (1 - p) * std::log2(1 - p), 1e-12);
  // Geometric with ratio 1/2: two bits.
  Counts geometric;
  for (unsigned i = 50; i-- > 0;) geometric.push_back(uint64_t{1} << i);
  EXPECT_NEAR(Entropy(geometric), 2, 1e-9);
}

TEST(Statistics, HillFindsTheIndexOfAPareto) {
  for (const double alpha : {0.5, 1.0, 1.7, 3.0}) {
    for (const uint64_t seed : {1u, 2u, 3u}) {
      SCOPED_TRACE(testing::Message() << "alpha " << alpha << ", seed " << seed);
      std::mt19937_64 random(seed);
      std::vector<double> values(100'000);
      for (double& value : values) {
        const double uniform = static_cast<double>((random() >> 11) + 1) * 0x1p-53;
        value = 0.01 * std::pow(uniform, -1 / alpha);
      }
      std::sort(values.begin(), values.end());
      const auto tail = HillTailIndex(values, Counts(values.size(), 1));
      ASSERT_TRUE(tail);
      EXPECT_EQ(tail->used, 2000u);
      EXPECT_NEAR(tail->error, tail->alpha / std::sqrt(2000.0), 1e-12);
      EXPECT_NEAR(tail->alpha, alpha, 3 * tail->error);
    }
  }
}

// 1 and 2 and 4 and 8 by hand: of 1000 magnitudes the largest 20 are used, and the 21st is 2.
TEST(Statistics, HillCountsTies) {
  const std::vector<double> values = {1, 2, 4, 8};
  const auto tail = HillTailIndex(values, Counts{970, 15, 10, 5});
  ASSERT_TRUE(tail);
  EXPECT_EQ(tail->used, 20u);
  EXPECT_NEAR(tail->alpha, 20 / (10 * std::log(2.0) + 5 * std::log(4.0)), 1e-12);
  // The threshold itself may be used, empty bins do not matter, and 100 magnitudes are enough.
  const auto spread = HillTailIndex(std::vector<double>{1, 1.5, 2, 3}, Counts{91, 0, 9, 0});
  ASSERT_TRUE(spread);
  EXPECT_EQ(spread->used, 10u);
  EXPECT_NEAR(spread->alpha, 10 / (9 * std::log(2.0)), 1e-12);
}

TEST(Statistics, HillGivesNothingWithoutATail) {
  EXPECT_FALSE(HillTailIndex({}, {}));
  EXPECT_FALSE(HillTailIndex(std::vector<double>{1, 2}, Counts{98, 1}));
  EXPECT_TRUE(HillTailIndex(std::vector<double>{1, 2}, Counts{98, 2}));
  EXPECT_FALSE(HillTailIndex(std::vector<double>{1, 2}, Counts{10, 1000}));  // All equal.
}

// Entropy of floor(log2 |w|) of a distribution with this P(|w| <= x).
template <class Cdf>
double ExponentEntropy(const Cdf& cdf) {
  double bits = 0;
  for (int exponent = -80; exponent < 80; ++exponent) {
    const double share = cdf(std::exp2(exponent + 1)) - cdf(std::exp2(exponent));
    if (share > 0) bits -= share * std::log2(share);
  }
  return bits;
}

TEST(Statistics, BoundsAreThoseOfTheSource) {
  EXPECT_NEAR(ExponentEntropyBounds(2).upper, 2.6667, 1e-4);
  EXPECT_NEAR(ExponentEntropyBounds(2).lower, 1.6, 1e-12);
  EXPECT_NEAR(ExponentEntropyBounds(1).upper, 2, 1e-12);
  EXPECT_NEAR(ExponentEntropyBounds(1).lower, 2.0 / 3, 1e-12);
  EXPECT_EQ(ExponentEntropyBounds(7.5).upper, ExponentEntropyBounds(2).upper);
  EXPECT_EQ(ExponentEntropyBounds(7.5).lower, 1.6);
  EXPECT_NEAR(ExponentEntropyBounds(1e-12).upper, 1 / std::log(2.0), 1e-9);
}

// What the comment says of their reach.
TEST(Statistics, BoundsHoldForANormalAndNotForACauchyDistribution) {
  const double normal = ExponentEntropy([](double x) { return std::erf(x / std::sqrt(2.0)); });
  EXPECT_NEAR(normal, 2.54, 0.01);
  EXPECT_LT(normal, ExponentEntropyBounds(2).upper);
  EXPECT_GT(normal, ExponentEntropyBounds(2).lower);
  const double cauchy = ExponentEntropy([](double x) { return 2 / M_PI * std::atan(x); });
  EXPECT_NEAR(cauchy, 3.19, 0.01);
  EXPECT_GT(cauchy, ExponentEntropyBounds(1).upper);
}

}  // namespace
}  // namespace penstock::ops
