#include "models/k3/synth/route_statistics.h"

#include <cmath>

#include <gtest/gtest.h>

namespace penstock::k3 {
namespace {

TEST(RouteStatistics, OfNothingIsNothing) {
  const RouteStatistics none = StatisticsOf({});
  EXPECT_EQ(none.steps, 0u);
  EXPECT_EQ(none.repeat_rate, 0);
}

// Two layers, two of eight experts, three tokens.
TEST(RouteStatistics, CountByHand) {
  RouteRecord record;
  record.experts = 8;
  record.layers = 2;
  record.top_k = 2;
  record.chosen = {0, 1, 0, 1,   // token 0: layer 0, layer 1
                   1, 2, 3, 4,   // token 1 repeats 1 in layer 0
                   2, 1, 4, 5};  // token 2 repeats 2 and 1, and 4
  constexpr uint32_t kNone = RouteRecord::kNoGuess;
  record.guessed = {kNone, kNone, 1, 7, kNone, kNone, 4, 3, kNone, kNone, 6, 7};
  const RouteStatistics s = StatisticsOf(record);
  EXPECT_EQ(s.steps, 3u);
  EXPECT_DOUBLE_EQ(s.repeat_rate, 4.0 / 8);
  EXPECT_DOUBLE_EQ(s.next_recall, 3.0 / 6);
  EXPECT_DOUBLE_EQ(s.chance, 0.25);
  EXPECT_DOUBLE_EQ(s.most_entropy, 3);
  EXPECT_EQ(s.cache, 4u);
  // Token 1 finds expert 1 of layer 0, token 2 finds 2, 1 and layer 1's 4.
  EXPECT_DOUBLE_EQ(s.lru_hit_rate, 4.0 / 8);
  // Layer 0: 0 once, 1 three times, 2 twice of six; layer 1: 0 1 3 5 once, 4 twice. Corrections
  // (seen - top_k) / (2 * 6 ln 2).
  const auto h = [](double n) { return -n / 6 * std::log2(n / 6); };
  const double first = h(1) + h(3) + h(2) + 1 / (12 * std::log(2));
  const double second = 4 * h(1) + h(2) + 3 / (12 * std::log(2));
  EXPECT_NEAR(s.entropy, (first + second) / 2, 1e-12);
}

TEST(RouteStatistics, EntropyIsAtMostThatOfEqualUse) {
  RouteRecord record;
  record.experts = 4;
  record.layers = 1;
  record.top_k = 1;
  record.chosen = {0, 1, 2, 3};
  EXPECT_DOUBLE_EQ(StatisticsOf(record).entropy, 2);
  record.chosen = {2, 2, 2, 2};
  EXPECT_DOUBLE_EQ(StatisticsOf(record).entropy, 0);
  EXPECT_DOUBLE_EQ(StatisticsOf(record).repeat_rate, 1);
  EXPECT_DOUBLE_EQ(StatisticsOf(record).lru_hit_rate, 1);
}

TEST(CountLruHits, KeepsTheMostRecentlyUsed) {
  EXPECT_EQ(CountLruHits({1, 2, 1, 3, 2, 1}, 2, 0), 1u);  // The third; 3 then takes the place of 2.
  EXPECT_EQ(CountLruHits({1, 2, 1, 3, 2, 1}, 3, 0), 3u);
  EXPECT_EQ(CountLruHits({1, 2, 1, 3, 2, 1}, 3, 3), 2u);
  EXPECT_EQ(CountLruHits({1, 1, 1}, 0, 0), 0u);
  EXPECT_EQ(CountLruHits({1, 2, 3, 1, 2, 3}, 2, 0), 0u);  // A cycle one longer than the cache.
}

}  // namespace
}  // namespace penstock::k3
