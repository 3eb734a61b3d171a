#include "models/k3/bench/token/token.h"

#include <atomic>

#include <gtest/gtest.h>

#include "runtime/process/process.h"
#include "tests/models/k3/tiny_model.h"

namespace penstock::k3 {
namespace {

TokenBenchOptions SmallTokenBench() {
  TokenBenchOptions options;
  options.model = kTiny;
  options.repetitions = 2;
  options.steps = 1;
  options.calibration_bytes = 8 * kMiB;
  return options;
}

PipelineOptions SmallExpertCache() {
  PipelineOptions options;
  options.expert_cache.bytes = 256 << 10;
  return options;
}

TEST(TokenBench, BalancedArmsArePacedToAMultipleOfTheArithmetic) {
  TokenBenchOptions options = SmallTokenBench();
  options.balance = "1,4";
  const auto result = BenchToken(options, SmallExpertCache(), FromMemory(), {});
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->rows.size(), 3u);
  EXPECT_EQ(result->rows[0].arm, "compute");
  EXPECT_EQ(result->rows[0].pace, 0);
  EXPECT_NEAR(result->rows[1].pace, 4 * result->rows[2].pace, 1e-3 * result->rows[1].pace);
  for (const size_t i : {1, 2}) {
    const TokenRow& row = result->rows[i];
    ASSERT_TRUE(row.overlap_best && row.overlap_median);
    EXPECT_GT(*row.overlap_best, 0);
    EXPECT_GE(row.median_ns, 0.9 * row.io_ns);  // No faster than the device.
    EXPECT_EQ(row.bytes, result->rows[0].bytes);
  }
  for (const TokenRow& row : result->rows) {
    ASSERT_TRUE(row.plan_ns && row.plan_ratio) << row.arm;
    EXPECT_GE(*row.plan_ns, 0.8 * row.io_ns) << "no plan is much faster than the device";
  }
  ASSERT_TRUE(result->messages);
  EXPECT_GT(result->messages->a_step, 100u);  // Products, at least, of five layers.
  EXPECT_GT(result->messages->ns, 0);
}

TEST(TokenBench, AGivenPaceIsComparedWithTheReplayOfTheSameBytes) {
  PipelineOptions all_misses;  // One expert fits: every use is a read.
  all_misses.expert_cache.bytes = 32 << 10;
  const auto result = BenchToken(SmallTokenBench(), all_misses, FromMemory("400M"), {});
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->rows.size(), 3u);
  const TokenRow& step = result->rows[1];
  const TokenRow& replay = result->rows[2];
  EXPECT_EQ(step.arm, "step");
  EXPECT_EQ(replay.arm, "replay");
  // But for the row of the embedding.
  EXPECT_NEAR(step.bytes, replay.bytes, 1024);
  ASSERT_TRUE(step.replay_ratio);
  EXPECT_FALSE(step.replay_ratio_low) << "two rounds say nothing about it";
  EXPECT_FALSE(replay.replay_ratio);
}

TEST(TokenBench, RefusesWhatCannotBeMeasured) {
  TokenBenchOptions options = SmallTokenBench();
  for (const char* balance : {"", "1,", "x", "0", "1e9", "1;2", "nan"}) {
    options.balance = balance;
    const auto result = BenchToken(options, {}, FromMemory(), {});
    ASSERT_FALSE(result) << balance;
    EXPECT_EQ(ExitCode(result.error()), 2);
  }
  options = SmallTokenBench();
  options.model.clear();
  EXPECT_FALSE(BenchToken(options, {}, FromMemory(), {}));
}

TEST(TokenBench, ModesOfPredictionAreComparedWithTheFirst) {
  TokenBenchOptions options = SmallTokenBench();
  options.predicting = "off,previous";
  PipelineOptions pipeline;
  pipeline.expert_cache.bytes = 512 << 10;
  const auto result = BenchToken(options, pipeline, FromMemory("200M"), {});
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->rows.size(), 2u);
  EXPECT_EQ(result->rows[0].arm, "predict off");
  EXPECT_EQ(*result->rows[0].x_first, 1);
  EXPECT_EQ(*result->rows[0].bytes_x_first, 1);
  EXPECT_GT(*result->rows[1].x_first, 0);
  EXPECT_GE(*result->rows[1].bytes_x_first, 0.5);
  for (const char* modes : {"off,", "on", ","}) {
    options.predicting = modes;
    EXPECT_FALSE(BenchToken(options, pipeline, FromMemory("200M"), {})) << modes;
  }
}

// Engines that are opened one after the other must not find less memory than the first.
TEST(TokenBench, TheSameModeTwiceReadsTheSameBytes) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "what the sanitizer holds beside the engines does not fit a tight budget";
#endif
  TokenBenchOptions options = SmallTokenBench();
  options.predicting = "off,off,off";
  PipelineOptions pipeline;
  pipeline.memory.bytes = ReadProcessMemory()->rss_bytes + 24 * kMiB;  // Tight.
  pipeline.pin = "2";
  const auto result = BenchToken(options, pipeline, FromMemory("200M"), {});
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->rows.size(), 3u);
  for (const TokenRow& row : result->rows) EXPECT_EQ(*row.bytes_x_first, 1) << row.bytes;
}

TEST(TokenBench, WhereNothingIsReadThereIsNothingToMeasure) {
  const auto result = BenchToken(SmallTokenBench(), {}, FromMemory(), {});
  ASSERT_FALSE(result) << "all of it is pinned or cached";
  EXPECT_EQ(ExitCode(result.error()), 2);
}

TEST(TokenBench, StopsInTheMiddleOfAStep) {
  std::atomic<bool> stopped = false;
  BenchHooks hooks;
  hooks.stopped = [&] { return stopped.load(); };
  hooks.progress = [&](const BenchProgress& progress) {
    stopped = progress.stage == "token: measuring";
    return true;
  };
  PipelineOptions streaming = SmallExpertCache();
  streaming.pin = "0";
  const auto result = BenchToken(SmallTokenBench(), streaming, FromMemory("200k"), hooks);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kCancelled);
}

TEST(FaultTokenBench, AFailingReadIsTheResult) {
  io::IoOptions io = FromMemory();
  io.fault = "eio@layer=5";
  const auto result = BenchToken(SmallTokenBench(), SmallExpertCache(), io, {});
  ASSERT_FALSE(result);
  EXPECT_EQ(ExitCode(result.error()), 1);
}

TEST(TokenBench, JsonHasEveryRow) {
  const auto result = BenchToken(SmallTokenBench(), SmallExpertCache(), FromMemory("2G"), {});
  ASSERT_TRUE(result);
  const Json json = TokenJson(*result);
  EXPECT_EQ(json["schema"], "penstock.bench.token.v1");
  ASSERT_EQ(json["rows"].size(), 3u);
  EXPECT_TRUE(json["rows"][0]["replay_ratio"].is_null());
  EXPECT_TRUE(json["rows"][1]["replay_ratio"].is_number());
}

}  // namespace
}  // namespace penstock::k3
