#include <cmath>

#include <gtest/gtest.h>

#include "ops/reference/reference.h"

namespace penstock::ops::reference {
namespace {

double Logit(double s) { return std::log(s / (1 - s)); }

TEST(NumericReferenceRouter, BiasChoosesScoresWeigh) {
  const Choice choice = Route({.experts = 3, .top_k = 2, .scale = 2},
                              Vector{Logit(0.5), Logit(0.25), Logit(0.75)}, Vector{0.5, 0, -0.6});
  EXPECT_EQ(choice.ids, (std::vector<uint32_t>{0, 1}));
  EXPECT_NEAR(choice.weights[0], 2 * 0.5 / 0.75, 1e-12);
  EXPECT_NEAR(choice.weights[1], 2 * 0.25 / 0.75, 1e-12);
}

TEST(NumericReferenceRouter, TiesGoToTheLowerId) {
  const Choice choice =
      Route({.experts = 4, .top_k = 2, .renormalize = false}, Vector(4, 0.0), Vector(4, 0.0));
  EXPECT_EQ(choice.ids, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(choice.weights, (Vector{0.5, 0.5}));
}

TEST(NumericReferenceRouter, GroupsByTheirTwoBest) {
  const Choice choice =
      Route({.experts = 4, .top_k = 1, .groups = 2, .top_groups = 1},
            Vector{Logit(0.9), Logit(0.1), Logit(0.6), Logit(0.6)}, Vector(4, 0.0));
  EXPECT_EQ(choice.ids, (std::vector<uint32_t>{2}));
}

}  // namespace
}  // namespace penstock::ops::reference
