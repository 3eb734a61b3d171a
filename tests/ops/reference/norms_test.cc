#include <cmath>

#include <gtest/gtest.h>

#include "ops/reference/reference.h"

// The oracle itself, against numbers worked out by hand: a wrong oracle would bless wrong kernels.
namespace penstock::ops::reference {
namespace {

TEST(NumericReferenceNorms, ScalarFunctions) {
  EXPECT_DOUBLE_EQ(Sigmoid(0), 0.5);
  EXPECT_DOUBLE_EQ(Sigmoid(std::log(3.0)), 0.75);
  EXPECT_DOUBLE_EQ(Silu(std::log(3.0)), 0.75 * std::log(3.0));
  EXPECT_DOUBLE_EQ(Softplus(0), std::log(2.0));
  EXPECT_DOUBLE_EQ(Softplus(800), 800);
  EXPECT_GT(Softplus(-700), 0);
}

TEST(NumericReferenceNorms, RmsNormByTheMean) {
  const Vector x = {3, 4};
  const Vector weight = {1, 10};
  const Vector y = RmsNorm(x, weight, 0);
  EXPECT_DOUBLE_EQ(y[0], 3 / std::sqrt(12.5));
  EXPECT_DOUBLE_EQ(y[1], 40 / std::sqrt(12.5));
  EXPECT_DOUBLE_EQ(RmsNorm(x, weight, 12.5)[0], 3 / 5.0);
}

TEST(NumericReferenceNorms, L2NormalizeByTheSum) {
  const Vector y = L2Normalize(Vector{3, 4}, 2);
  EXPECT_NEAR(y[0], 1.2, 1e-7);
  EXPECT_NEAR(y[1], 1.6, 1e-7);
  EXPECT_DOUBLE_EQ(L2Normalize(Vector{1e-3}, 1)[0], 1e-3 / std::sqrt(2e-6));
}

TEST(NumericReferenceNorms, SituGlu) {
  const Vector y = SituGlu(Vector{2}, Vector{5}, 4, 25);
  EXPECT_DOUBLE_EQ(y[0], 4 * std::tanh(0.5) / (1 + std::exp(-2.0)) * 25 * std::tanh(0.2));
  EXPECT_DOUBLE_EQ(SituGlu(Vector{2}, Vector{5}, 1, 0)[0],
                   std::tanh(2.0) / (1 + std::exp(-2.0)) * 5);
}

TEST(NumericReferenceNorms, GatedNormThenPlainSigmoid) {
  const Vector y = GatedNorm(Vector{3, 4}, Vector{1, 1}, Vector{0, std::log(3.0)}, 0);
  EXPECT_DOUBLE_EQ(y[0], 3 / std::sqrt(12.5) * 0.5);
  EXPECT_DOUBLE_EQ(y[1], 4 / std::sqrt(12.5) * 0.75);
}

TEST(NumericReferenceNorms, ResidualMixOfRawSources) {
  const Vector sources[] = {{2, 0}, {0, 6}};                  // normed: {sqrt 2, 0}, {0, sqrt 2}
  const Vector factor = {0, std::log(3.0) / std::sqrt(2.0)};  // scores 0 and ln 3
  const Vector y = ResidualMix(sources, factor, 0);
  EXPECT_NEAR(y[0], 2 * 0.25, 1e-14);
  EXPECT_NEAR(y[1], 6 * 0.75, 1e-14);
}

}  // namespace
}  // namespace penstock::ops::reference
