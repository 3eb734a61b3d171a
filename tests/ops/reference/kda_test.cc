#include <cmath>

#include <gtest/gtest.h>

#include "ops/reference/reference.h"

namespace penstock::ops::reference {
namespace {

TEST(NumericReferenceKda, ConvolutionFromOldestToNewest) {
  // Two channels, three taps; history [2][2].
  const Vector y = ShortConvSilu(Vector{1, 10, 100, 2, 20, 200}, Vector{1, 2, 3, 4}, Vector{5, 6});
  EXPECT_DOUBLE_EQ(y[0], Silu(1 * 1 + 10 * 3 + 100 * 5));
  EXPECT_DOUBLE_EQ(y[1], Silu(2 * 2 + 20 * 4 + 200 * 6));
}

TEST(NumericReferenceKda, DecayOfOneHead) {
  const Vector alpha = KdaDecay(Vector{1, 2}, Vector{0.5, -1}, 2, -5);
  EXPECT_DOUBLE_EQ(alpha[0], std::exp(-5 / (1 + std::exp(-3.0))));
  EXPECT_DOUBLE_EQ(alpha[1], std::exp(-5 / (1 + std::exp(-2.0))));
  EXPECT_DOUBLE_EQ(KdaDecay(Vector{1}, Vector{0}, 2, 0)[0],
                   std::exp(-2 * std::log(1 + std::exp(1.0))));
}

// Worked out by hand: rows decay first, u reads the decayed state, o the updated one.
TEST(NumericReferenceKda, StepByHand) {
  Vector state = {1, 2, 3, 4};
  const Vector o =
      KdaStep(state, Vector{1, 10}, Vector{2, 1}, Vector{20, 30}, Vector{0.5, 0.25}, 0.5);
  EXPECT_EQ(state, (Vector{18.75, 28, 9.875, 14.5}));
  EXPECT_EQ(o, (Vector{117.5, 173}));
}

// With beta 1, a unit key and no decay, the delta rule stores exactly v under k.
TEST(NumericReferenceKda, StoresAValueUnderItsKey) {
  Vector state = {7, -3, 2, 9};
  const Vector key = {0.6, 0.8};
  const Vector o = KdaStep(state, key, key, Vector{5, 6}, Vector{1, 1}, 1);
  EXPECT_NEAR(o[0], 5, 1e-14);
  EXPECT_NEAR(o[1], 6, 1e-14);
}

}  // namespace
}  // namespace penstock::ops::reference
