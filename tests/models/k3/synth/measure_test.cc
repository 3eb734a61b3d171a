#include "models/k3/synth/measure.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "models/k3/synth/synth.h"
#include "tests/io/safetensors/shard.h"

namespace penstock::k3 {
namespace {

constexpr uint64_t kTokens = 12;

// Wide enough for the statistics, a residual block of 3 layers for the bounds between them.
SynthOptions SmallMeasured(const std::string& out, const std::string& routes) {
  SynthOptions o;
  o.out = out;
  o.layers = 7;
  o.hidden = 384;
  o.vocab = 256;
  o.kda_heads = 4;
  o.dense_width = 64;
  o.experts = 48;
  o.top_k = 16;
  o.latent = 32;
  o.expert_width = 32;
  o.residual_block = 3;
  o.weights = "trained";
  o.routes = routes;
  return o;
}

RouteRecord Measured(const std::string& routes) {
  const io::ScratchDirectory scratch;
  const SynthOptions options = SmallMeasured(scratch.File("s"), routes);
  EXPECT_TRUE(Synthesize(options, {}));
  auto record = RecordRoutes(options.out, kTokens, 3, {}, nullptr);
  EXPECT_TRUE(record) << record.error().message;
  return record ? *record : RouteRecord{};
}

TEST(MeasureRoutes, RecordsWholeChoices) {
  const RouteRecord record = Measured("k3-like");
  EXPECT_EQ(record.layers, 6u);
  EXPECT_EQ(record.steps(), kTokens);
  ASSERT_EQ(record.guessed.size(), record.chosen.size());
  for (const auto* ids : {&record.chosen, &record.guessed}) {
    for (size_t at = 0; at < ids->size(); at += 16) {
      const std::set<uint32_t> different(ids->begin() + at, ids->begin() + at + 16);
      EXPECT_EQ(different.size(), 16u);
      EXPECT_LT(*different.rbegin(), 48u);
    }
  }
}

TEST(MeasureRoutes, K3LikeIsSkewedAndHalfForeseen) {
  const RouteStatistics s = StatisticsOf(Measured("k3-like"));
  EXPECT_NEAR(s.next_recall, 0.53, 0.1);
  EXPECT_GT(s.repeat_rate, s.chance + 0.05);
  EXPECT_LT(s.repeat_rate, 0.6);
  EXPECT_LT(s.entropy, s.most_entropy - 0.1);
  EXPECT_LT(s.lru_hit_rate, 0.02);
}

TEST(MeasureRoutes, StickyRepeats) {
  const RouteStatistics s = StatisticsOf(Measured("sticky"));
  EXPECT_GT(s.repeat_rate, 0.65);
  EXPECT_GT(s.next_recall, 0.75);
}

TEST(MeasureRoutes, UniformTellsLittle) {
  const RouteStatistics s = StatisticsOf(Measured("uniform"));
  EXPECT_NEAR(s.next_recall, s.chance, 0.1);
  EXPECT_NEAR(s.repeat_rate, s.chance, 0.1);
  EXPECT_GT(s.entropy, s.most_entropy - 0.15);
}

TEST(MeasureRoutes, StopsWhenToldAndRefusesWhatIsNotThere) {
  const io::ScratchDirectory scratch;
  EXPECT_FALSE(RecordRoutes(scratch.File("nothing"), 1, 1, {}, nullptr));
  const SynthOptions options = SmallMeasured(scratch.File("s"), "plain");
  ASSERT_TRUE(Synthesize(options, {}));
  const auto stopped = RecordRoutes(
      options.out, kTokens, 1, [](uint64_t done) { return done < 2; }, nullptr);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace penstock::k3
