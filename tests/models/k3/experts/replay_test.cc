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
    routes.routes.push_back({n, n, 1, {0, 3}, {}});
    routes.routes.push_back({n, n, 2, {1, 2}, {1, 0}});
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

// Two steps of two positions. The first one's second position was a refused draft: the other begins
// there.
Routes Drafted() {
  Routes routes;
  routes.header = {3, 4, 2, 1000, ""};
  routes.routes = {{0, 0, 1, {0, 1}, {}}, {0, 0, 2, {0, 1}, {}},    {0, 1, 1, {1, 2}, {}},
                   {0, 1, 2, {0, 3}, {}}, {1, 1, 1, {2, 3}, {}},    {1, 1, 2, {3, 1}, {}},
                   {1, 2, 1, {3, 0}, {}}, {1, 2, 2, {1, 3}, {1, 0}}};
  return routes;
}

// By hand, with a0 for expert 0 of layer 1 and b0 for that of layer 2: a0 a1 a2 b0 b1 b3 in the first
// step, a2 a3 a0 b3 b1 in the second.
TEST(Replay, AStepDemandsInEachLayerWhatItsPositionsChoseEachOnce) {
  const Routes routes = Drafted();
  const auto sizes = ParseCacheSizes("3,4,5", routes);
  const std::vector<std::string_view> lru = {"lru"};
  const RoutesReplay replay = ReplayRoutes(routes, *sizes, lru);
  EXPECT_EQ(replay.steps, 2u);
  EXPECT_EQ(replay.requests, 11u);
  ASSERT_EQ(replay.policies.size(), 2u);
  // 4 slots: a2 b0 b1 b3 are left of the first step; a3 replaces b0 and a0 b1; a2 and b3 are found.
  EXPECT_EQ(replay.policies[0].hits, (std::vector<uint64_t>{0, 2, 3}));
  // 3 slots: a0 a2 b3 are left of the first step, and found; 4: b1 as well.
  EXPECT_EQ(replay.policies[1].hits, (std::vector<uint64_t>{3, 4, 4}));
}

TEST(Replay, RecallIsByPositionAndARefusedDraftIsNoTokenBefore) {
  const Routes routes = Drafted();
  const auto sizes = ParseCacheSizes("1", routes);
  const RoutesReplay replay = ReplayRoutes(routes, *sizes, {});
  ASSERT_EQ(replay.layers.size(), 2u);
  // Positions 1, 1 again, and 2: of the two chosen each, what position 0, 0 and 1 chose.
  EXPECT_EQ(replay.layers[0].previous.wanted, 6u);
  EXPECT_EQ(replay.layers[0].previous.found, 1u + 0 + 1);
  EXPECT_EQ(replay.layers[1].previous.wanted, 6u);
  EXPECT_EQ(replay.layers[1].previous.found, 1u + 1 + 2);
  EXPECT_EQ(replay.next.wanted, 2u);
  EXPECT_EQ(replay.next.found, 1u);
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
