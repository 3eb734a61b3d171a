#include "ops/router.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "ops/reference/reference.h"
#include "tests/ops/draw.h"

namespace penstock::ops {
namespace {

struct Choice {
  std::vector<uint32_t> ids;
  std::vector<float> weights;
};

Choice Choose(const RouterConfig& config, const std::vector<float>& scores,
              const std::vector<float>& bias) {
  Choice choice{std::vector<uint32_t>(config.top_k), std::vector<float>(config.top_k)};
  std::vector<float> scratch(config.experts);
  Route(config, scores.data(), bias.data(), scratch.data(), choice.ids.data(),
        choice.weights.data());
  return choice;
}

using Ids = std::vector<uint32_t>;

TEST(NumericRouter, DescendingByBiasedScore) {
  const Choice choice = Choose({.experts = 5, .top_k = 3}, {0.1f, 0.5f, 0.2f, 0.4f, 0.3f},
                               std::vector<float>(5, 0.0f));
  EXPECT_EQ(choice.ids, (Ids{1, 3, 4}));
}

TEST(NumericRouter, BiasChoosesAndDoesNotWeigh) {
  const Choice choice = Choose({.experts = 3, .top_k = 2, .renormalize = false},
                               {0.5f, 0.25f, 0.125f}, {-1.0f, 0.0f, 1.0f});
  EXPECT_EQ(choice.ids, (Ids{2, 1}));
  EXPECT_EQ(choice.weights, (std::vector<float>{0.125f, 0.25f}));
}

// Both cancel in the norm behind the weighted sum, so they are seen only here.
TEST(NumericRouter, RenormalisedAndScaled) {
  const std::vector<float> scores = {0.5f, 0.25f, 0.25f};
  const std::vector<float> bias(3, 0.0f);
  EXPECT_EQ(Choose({.experts = 3, .top_k = 2}, scores, bias).weights,
            (std::vector<float>{0.5f / 0.75f, 0.25f / 0.75f}));
  EXPECT_EQ(
      Choose({.experts = 3, .top_k = 2, .renormalize = false, .scale = 3}, scores, bias).weights,
      (std::vector<float>{1.5f, 0.75f}));
  EXPECT_EQ(Choose({.experts = 3, .top_k = 2, .scale = 3}, scores, bias).weights,
            (std::vector<float>{0.5f / 0.75f * 3, 0.25f / 0.75f * 3}));
  EXPECT_EQ(Choose({.experts = 3, .top_k = 1}, scores, bias).weights, (std::vector<float>{0.5f}));
}

TEST(NumericRouter, TiesGoToTheLowerId) {
  const std::vector<float> bias(8, 0.0f);
  EXPECT_EQ(Choose({.experts = 8, .top_k = 3}, std::vector<float>(8, 0.5f), bias).ids,
            (Ids{0, 1, 2}));
  EXPECT_EQ(
      Choose({.experts = 8, .top_k = 4}, {0.1f, 0.5f, 0.9f, 0.5f, 0.5f, 0.9f, 0.5f, 0.1f}, bias)
          .ids,
      (Ids{2, 5, 1, 3}));
}

TEST(NumericRouter, GroupsAreCutByTheirTwoBest) {
  const RouterConfig config{.experts = 6, .top_k = 2, .groups = 3, .top_groups = 1};
  // The single best expert is in group 0, the best pair in group 1.
  const std::vector<float> scores = {0.9f, 0.1f, 0.6f, 0.55f, 0.5f, 0.5f};
  EXPECT_EQ(Choose(config, scores, std::vector<float>(6, 0.0f)).ids, (Ids{2, 3}));
  // Tied groups: the lower one.
  EXPECT_EQ(Choose(config, std::vector<float>(6, 0.5f), std::vector<float>(6, 0.0f)).ids,
            (Ids{0, 1}));
}

TEST(NumericRouter, GroupsThatAllStayDoNotCut) {
  const RouterConfig config{.experts = 4, .top_k = 2, .groups = 2, .top_groups = 2};
  EXPECT_EQ(Choose(config, {0.9f, 0.1f, 0.8f, 0.2f}, std::vector<float>(4, 0.0f)).ids, (Ids{0, 2}));
}

TEST(NumericRouter, NanLosesAndIsSeenWhenChosen) {
  const std::vector<float> bias(3, 0.0f);
  const Choice some = Choose({.experts = 3, .top_k = 2}, {NAN, 0.25f, 0.5f}, bias);
  EXPECT_EQ(some.ids, (Ids{2, 1}));
  const Choice all = Choose({.experts = 3, .top_k = 3}, {0.25f, NAN, 0.5f}, bias);
  EXPECT_EQ(all.ids, (Ids{2, 0, 1}));
  EXPECT_TRUE(std::isnan(all.weights[2]));
}

TEST(NumericRouter, AgreesWithTheReference) {
  Draw draw(1);
  SCOPED_TRACE(draw.Seed());
  for (int round = 0; round < 300; ++round) {
    RouterConfig config;
    config.groups = draw.Size(1, 5);
    config.experts = config.groups * draw.Size(1, 40);
    config.top_groups = draw.Size(1, config.groups);
    config.top_k = draw.Size(1, config.experts / config.groups * config.top_groups);
    config.renormalize = draw.Size(0, 1) == 1;
    config.scale = draw.Size(0, 1) == 1 ? 1.0f : 2.5f;
    // Multiples of 1/64 tie often, and add without rounding.
    std::vector<float> scores;
    std::vector<float> bias;
    std::vector<double> logits;
    std::vector<double> wide_bias;
    for (size_t e = 0; e < config.experts; ++e) {
      scores.push_back(static_cast<float>(draw.Size(1, 63)) / 64);
      bias.push_back(static_cast<float>(draw.Size(0, 16)) / 64);
    }
    const Choice got = Choose(config, scores, bias);
    std::set<uint32_t> distinct(got.ids.begin(), got.ids.end());
    EXPECT_EQ(distinct.size(), config.top_k);
    // The reference takes logits; the inverse of the sigmoid rounds, so compare ranks by giving it
    // no ties: the lower id gets a little more, far less than 1/64.
    for (size_t e = 0; e < config.experts; ++e) {
      const double s = static_cast<double>(scores[e]);
      logits.push_back(std::log(s / (1 - s)));
      wide_bias.push_back(static_cast<double>(bias[e]) - 1e-9 * static_cast<double>(e));
    }
    const bool group_ties_possible = config.groups > config.top_groups;
    if (group_ties_possible) continue;
    const reference::Choice want = reference::Route(config, logits, wide_bias);
    EXPECT_EQ(got.ids, want.ids);
    for (size_t i = 0; i < config.top_k; ++i) {
      EXPECT_NEAR(got.weights[i], want.weights[i], 1e-5 * want.weights[i]);
    }
  }
}

// Two experts so close that the rounding of their sums to f32 may change their order.
bool HasNearTie(const std::vector<float>& scores, const std::vector<float>& bias) {
  std::vector<double> biased;
  for (size_t e = 0; e < scores.size(); ++e) {
    biased.push_back(static_cast<double>(scores[e]) + static_cast<double>(bias[e]));
  }
  std::sort(biased.begin(), biased.end());
  for (size_t e = 1; e < biased.size(); ++e) {
    if (biased[e] - biased[e - 1] < 1e-6) return true;
  }
  return false;
}

TEST(NumericRouter, GroupsAgreeWithTheReference) {
  Draw draw(2);
  SCOPED_TRACE(draw.Seed());
  for (int round = 0; round < 100; ++round) {
    RouterConfig config{.groups = draw.Size(2, 6)};
    config.experts = config.groups * draw.Size(1, 20);
    config.top_groups = draw.Size(1, config.groups - 1);
    config.top_k = draw.Size(1, config.experts / config.groups * config.top_groups);
    std::vector<float> logits = draw.Normals(config.experts);
    std::vector<float> scores;
    for (float logit : logits) {
      scores.push_back(static_cast<float>(reference::Sigmoid(static_cast<double>(logit))));
    }
    const std::vector<float> bias = draw.Normals(config.experts, 0.2f);
    if (HasNearTie(scores, bias)) continue;  // Which of two goes first is then f32's to say.
    EXPECT_EQ(Choose(config, scores, bias).ids,
              reference::Route(config, Widen(logits), Widen(bias)).ids);
  }
}

}  // namespace
}  // namespace penstock::ops
