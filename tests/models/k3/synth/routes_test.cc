#include "models/k3/synth/routes.h"

#include <cmath>

#include <gtest/gtest.h>

#include "models/k3/synth/preset.h"
#include "tests/models/k3/synth/shape_of.h"

namespace penstock::k3 {
namespace {

TEST(TopOverlap, IsChanceWithoutCorrelationAndAllWithIt) {
  for (const double fraction : {0.5, 1.0 / 3, 0.1, 1.0 / 56}) {
    EXPECT_NEAR(TopOverlap(0, fraction), fraction, 0.001 * fraction);
    EXPECT_EQ(TopOverlap(1, fraction), 1);
    EXPECT_NEAR(TopOverlap(0.9999, fraction), 1, 0.05);
    for (const double overlap : {0.6, 0.7, 0.9}) {
      EXPECT_NEAR(TopOverlap(CorrelationOf(overlap, fraction), fraction), overlap, 0.001);
    }
    EXPECT_LT(CorrelationOf(fraction / 2, fraction), 1e-6);
  }
  // Above the median both: 1/4 + asin(rho) / 2 pi of all (Sheppard 1899), twice that of a half.
  EXPECT_NEAR(TopOverlap(0.5, 0.5), 2 * (0.25 + std::asin(0.5) / (2 * M_PI)), 0.001);
}

TEST(RouteDesign, SharesFollowFromWhatIsWanted) {
  const Shape shape = ShapeOf(PresetOptions("k3-slice"));
  EXPECT_FALSE(RouteDesign::Make("plain", shape));
  const auto alike = RouteDesign::Make("k3-like", shape),
             sticky = RouteDesign::Make("sticky", shape),
             uniform = RouteDesign::Make("uniform", shape);
  ASSERT_TRUE(alike && sticky && uniform);
  EXPECT_EQ(uniform->shares().lasting + uniform->shares().token, 0);
  EXPECT_EQ(uniform->bias_spread(), 0);
  EXPECT_GT(alike->bias_spread(), 0);
  EXPECT_GT(sticky->shares().lasting, 0.8);
  const double fraction = 16.0 / 48;
  const RouteShares& shares = alike->shares();
  EXPECT_NEAR(TopOverlap(std::sqrt(shares.lasting + shares.token), fraction), 0.5, 0.005);
  EXPECT_NEAR(TopOverlap(shares.lasting, fraction), 0.387, 0.005);
}

// The same recall for 16 of 896 experts needs more that is known before.
TEST(RouteDesign, SharesFollowTheNumberOfExperts) {
  SynthOptions options = PresetOptions("k3-slice");
  options.experts = 896;
  const auto many = RouteDesign::Make("k3-like", ShapeOf(options));
  EXPECT_NEAR(TopOverlap(std::sqrt(many->shares().lasting + many->shares().token), 16.0 / 896), 0.5,
              0.005);
}

TEST(RouteDesign, ALayersRouterReadsWhatItsAttentionWrites) {
  const Shape shape = ShapeOf(PresetOptions("k3-slice"));
  const auto design = RouteDesign::Make("uniform", shape);
  const auto written = design->AttentionOut(4), other = design->AttentionOut(1);
  const auto read = design->Router(4), mlp = design->MlpOut(), embedding = design->Embedding();
  ASSERT_EQ(written->rows.size(), shape.hidden);
  ASSERT_EQ(read->columns.size(), shape.hidden);
  size_t own = 0;
  for (size_t c = 0; c < shape.hidden; ++c) {
    const bool writes = written->rows[c] > 1;
    own += writes;
    EXPECT_EQ(read->columns[c] > 0.01f, writes) << c;
    EXPECT_LT(mlp->rows[c], 0.2f);
    if (!writes) continue;
    EXPECT_LT(other->rows[c], 0.2f);
    EXPECT_LT(embedding->columns[c], 0.1f);
  }
  EXPECT_NEAR(static_cast<double>(own), 7168.0 / 4 / 6, 1);
}

}  // namespace
}  // namespace penstock::k3
