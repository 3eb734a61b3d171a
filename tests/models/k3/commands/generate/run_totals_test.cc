#include "models/k3/commands/generate/run_totals.h"

#include <gtest/gtest.h>

namespace penstock::k3 {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

TEST(RunTotals, SumsStepsAndKeepsThePromptApart) {
  RunTotals totals;
  StepStats stats;
  stats.trunk_bytes = 100;
  stats.expert_bytes = 10;
  stats.expert_hits = 1;
  stats.expert_misses = 3;
  stats.stall_ns = {{"trunk", 5}, {"expert", 1}};
  totals.Add({.index = 0, .begin = 0, .positions = 3, .prompt = true, .elapsed_ns = 4 * kSecond},
             stats);
  totals.CountToken();
  EXPECT_EQ(totals.tokens_per_second(), 0);
  stats.stall_ns = {{"expert", 2}, {"graph", 7}};
  totals.Add({.index = 1, .begin = 3, .positions = 1, .prompt = false, .elapsed_ns = kSecond / 2},
             stats);
  totals.CountToken();
  EXPECT_DOUBLE_EQ(totals.tokens_per_second(), 2);
  EXPECT_EQ(totals.bytes(), 220u);
  const Json json = totals.ToJson();
  EXPECT_EQ(json["tokens"], 2);
  EXPECT_EQ(json["prompt_positions"], 3);
  EXPECT_EQ(json["expert_misses"], 6);
  EXPECT_DOUBLE_EQ(json["bytes_per_token"].get<double>(), 110);
  EXPECT_EQ(json["stall_ns"], Json({{"trunk", 5}, {"expert", 3}, {"graph", 7}}));
}

// Tokens per second are tokens, not steps.
TEST(RunTotals, CountsTheDraftsThatWereRight) {
  RunTotals totals;
  StepStats stats;
  stats.trunk_bytes = 60;
  totals.Add({.positions = 5, .prompt = true, .elapsed_ns = kSecond}, stats);
  totals.Add({.positions = 4, .drafted = 3, .accepted = 2, .elapsed_ns = kSecond}, stats);
  totals.Add({.positions = 4, .drafted = 3, .accepted = 0, .elapsed_ns = kSecond}, stats);
  EXPECT_DOUBLE_EQ(totals.tokens_per_second(), 2);
  EXPECT_DOUBLE_EQ(totals.bytes_per_token(), 30);
  const Json json = totals.ToJson();
  EXPECT_EQ(json["drafted"], 6);
  EXPECT_EQ(json["accepted"], 2);
}

TEST(RunTotals, NothingRanIsNoDivisionByZero) {
  const RunTotals totals;
  EXPECT_EQ(totals.tokens_per_second(), 0);
  EXPECT_EQ(totals.Table(0).find("nan"), std::string::npos);
}

}  // namespace
}  // namespace penstock::k3
