#include "models/k3/experts/replay.h"

#include <gtest/gtest.h>

#include "io/cache/eviction/policies.h"

namespace penstock::k3 {
namespace {

// Layers 1 and 2 of three, four experts each, two chosen; the same ones in every step.
Routes Steady(uint64_t steps) {
  Routes routes;
  routes.header = {3, 4, 2, 1000, ""};
  for (uint64_t n = 0; n < steps; ++n) {
    routes.routes.push_back({n, 1, {0, 3}, {}});
    routes.routes.push_back({n, 2, {1, 2}, {1, 0}});
  }
  return routes;
}

uint64_t SlotsWith(const std::string& text) {
  const auto sizes = ParseCacheSizes(text, Steady(1));
  EXPECT_TRUE(sizes.has_value()) << text;
  return sizes && !sizes->empty() ? sizes->front().slots : 0;
}

TEST(Replay, CacheSizesAreExpertsBytesOrShares) {
  EXPECT_EQ(SlotsWith("3"), 3u);
  EXPECT_EQ(SlotsWith("4k"), 4u);  // 4096 bytes.
  EXPECT_EQ(SlotsWith("0.5"), 4u);
  EXPECT_EQ(SlotsWith("25%"), 2u);
  EXPECT_EQ(SlotsWith("0.001"), 1u);
  EXPECT_EQ(SlotsWith("1000"), 8u) << "there are no more";
  const auto several = ParseCacheSizes("1,50%,2k", Steady(1));
  ASSERT_TRUE(several.has_value());
  EXPECT_EQ(several->size(), 3u);
  for (const char* bad : {"", "0", "x", "-1", "200%", "1.5", "1,,2", "10B", "1.0.0", "%"}) {
    EXPECT_FALSE(ParseCacheSizes(bad, Steady(1)).has_value()) << bad;
  }
}

TEST(Replay, HitsAreThoseOfEachPolicyBesideTheOptimum) {
  const Routes routes = Steady(50);
  const auto sizes = ParseCacheSizes("2,4", routes);
  const RoutesReplay replay = ReplayRoutes(routes, *sizes, io::PolicyNames());
  EXPECT_EQ(replay.steps, 50u);
  EXPECT_EQ(replay.requests, 200u);
  ASSERT_EQ(replay.policies.size(), io::PolicyNames().size() + 1);
  for (const PolicyReplay& row : replay.policies) {
    EXPECT_EQ(row.hits[1], 196u) << row.policy << ": all four fit";
    if (row.policy == "lru") {
      EXPECT_EQ(row.hits[0], 0u) << "a scan that does not fit";
    }
    EXPECT_LE(row.hits[0], replay.policies.back().hits[0]) << row.policy;
  }
  EXPECT_EQ(replay.policies.back().policy, "belady");
  EXPECT_GT(replay.policies.back().hits[0], 40u);
}

TEST(Replay, RecallCountsWhatWasPredictedOfWhatWasChosen) {
  const auto sizes = ParseCacheSizes("1", Steady(1));
  const RoutesReplay replay = ReplayRoutes(Steady(10), *sizes, {});
  EXPECT_EQ(replay.previous.rate(), 1.0);
  EXPECT_EQ(replay.previous.wanted, 36u) << "the first step has no token before it";
  EXPECT_EQ(replay.next.rate(), 0.5);
  EXPECT_EQ(replay.next.wanted, 20u) << "layer 1 was not predicted";
  ASSERT_EQ(replay.layers.size(), 2u);
  EXPECT_EQ(replay.layers[0].layer, 1u);
  EXPECT_EQ(replay.layers[0].next.wanted, 0u);
  const Json json = ReplayJson(replay);
  EXPECT_EQ(json["policies"].size(), 1u);
  EXPECT_FALSE(ReplayTable(replay).empty());
}

}  // namespace
}  // namespace penstock::k3
