#include "models/text/draft/economics.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace penstock::text {
namespace {

// A machine and a text: what a step takes by its positions, and how probable it is that a drafted
// id is right when those before it are.
struct Setting {
  double first_ns = 1e9;  // Of a step of one position.
  double more_ns = 0;     // Of each further one.
  double right = 0.5;
  double noise = 0;  // Relative, of the times.
};

struct Outcome {
  double ns = 0;
  size_t ids = 0;
  size_t length_sum = 0, steps = 0;
  double speed() const { return static_cast<double>(ids) / ns; }
  double mean_length() const {
    return static_cast<double>(length_sum) / static_cast<double>(steps);
  }
};

Outcome Simulate(DraftEconomics& economics, const Setting& setting, size_t steps, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  Outcome outcome;
  outcome.steps = steps;
  for (size_t step = 0; step < steps; ++step) {
    const size_t drafted = economics.Length();
    size_t accepted = 0;
    while (accepted < drafted && uniform(random) < setting.right) ++accepted;
    double ns = setting.first_ns + setting.more_ns * static_cast<double>(drafted);
    ns *= 1 + setting.noise * (uniform(random) - 0.5);
    economics.Record(drafted, accepted, static_cast<uint64_t>(ns));
    outcome.ns += ns;
    outcome.ids += 1 + accepted;
    outcome.length_sum += drafted;
  }
  return outcome;
}

double BestGain(const Setting& setting, size_t longest) {
  double best = 1, ids = 1;
  for (size_t d = 1; d <= longest; ++d) {
    ids += std::pow(setting.right, static_cast<double>(d));
    best = std::max(best, ids / (1 + setting.more_ns / setting.first_ns * static_cast<double>(d)));
  }
  return best;
}

TEST(DraftEconomics, DraftsAsLongAsPossibleWherePositionsAreFree) {
  DraftEconomics economics(8);
  Simulate(economics, {.right = 0.9}, 100, 1);
  EXPECT_EQ(economics.Length(), 8u);
  EXPECT_TRUE(economics.figures().on);
  EXPECT_GT(economics.figures().gain, 4);
  EXPECT_NEAR(economics.figures().time_ratio, 1, 1e-9);
}

TEST(DraftEconomics, ReachesLongDraftsByDoublingAfterTwoStepsWithoutOne) {
  DraftEconomics economics(100);
  std::vector<size_t> lengths;
  for (int step = 0; step < 9; ++step) {
    lengths.push_back(economics.Length());
    economics.Record(lengths.back(), lengths.back(), 1000);
  }
  EXPECT_EQ(lengths, (std::vector<size_t>{0, 0, 1, 2, 4, 8, 16, 32, 64}));
}

TEST(DraftEconomics, MeasuresWhatAPositionCosts) {
  DraftEconomics economics(4, /*always=*/true);
  for (int i = 0; i < 50; ++i) {
    for (size_t d = 0; d <= 4; ++d) economics.Record(d, d, 1000 + 100 * d);
  }
  const DraftEconomics::Figures& f = economics.figures();
  EXPECT_NEAR(f.step_ns, 1000, 1);
  EXPECT_NEAR(f.position_ns, 100, 1);
  EXPECT_EQ(f.length, 4u);
  EXPECT_NEAR(f.time_ratio, 1.4, 0.01);
  EXPECT_NEAR(f.ids_a_step, 5, 0.2);
  EXPECT_EQ(f.drafted, 500u);
  EXPECT_EQ(f.accepted, 500u);
  EXPECT_EQ(f.steps, 250u);
  EXPECT_EQ(f.drafted_steps, 200u);
}

TEST(DraftEconomics, MeasuresAcceptanceAtEachLength) {
  // The first two are always right, the third never: two positions more are worth their time, a
  // third one is not.
  DraftEconomics economics(6);
  size_t twos = 0;
  for (int step = 0; step < 200; ++step) {
    const size_t d = economics.Length();
    economics.Record(d, std::min<size_t>(d, 2), 1000 + 150 * d);
    twos += d == 2 ? 1 : 0;
  }
  EXPECT_GT(twos, 180u);
  EXPECT_NEAR(economics.figures().ids_a_step, 3, 0.1);
}

TEST(DraftEconomics, TurnsItselfOffAndProbesForLittle) {
  const Setting wrong{.more_ns = 0.5e9, .right = 0.02};
  DraftEconomics economics(8);
  const Outcome outcome = Simulate(economics, wrong, 3000, 5);
  EXPECT_FALSE(economics.figures().on);
  EXPECT_GE(outcome.speed() * wrong.first_ns, 0.97);
  // A probe pays half a step with a 64th of 32 others.
  EXPECT_GT(outcome.length_sum, 3000u / 33 - 20);
  EXPECT_LT(outcome.length_sum, 3000u / 32 + 20);
}

// Texts where there is always something to draft, and it is seldom right.
TEST(DraftEconomics, LosesLittleWhileItLearns) {
  uint64_t seed = 0;
  for (const double right : {0.0, 0.1, 0.2}) {
    for (const double more : {0.2, 0.3, 0.6}) {
      for (int round = 0; round < 20; ++round) {
        const Setting setting{.more_ns = more * 1e9, .right = right};
        SCOPED_TRACE(::testing::Message()
                     << "right " << right << " more " << more << " seed " << ++seed);
        DraftEconomics economics(7);
        EXPECT_GE(Simulate(economics, setting, 40, seed).speed() * setting.first_ns, 0.965);
      }
    }
  }
}

TEST(DraftEconomics, ASlowStartIsFoundOut) {
  const Setting setting{.more_ns = 0.25e9, .right = 0.1};
  DraftEconomics one_slow(7);
  one_slow.Record(0, 0, 1'500'000'000);
  EXPECT_GE(Simulate(one_slow, setting, 60, 1).speed() * setting.first_ns, 0.97);
  DraftEconomics all_slow(7);
  for (int i = 0; i < 2; ++i) all_slow.Record(0, 0, 1'500'000'000);
  Simulate(all_slow, setting, 60, 2);
  EXPECT_NEAR(all_slow.figures().step_ns, 1e9, 0.25e9);
  EXPECT_GE(Simulate(all_slow, setting, 300, 3).speed() * setting.first_ns, 0.96);
}

TEST(DraftEconomics, ComesBackWhenDraftsBecomeRight) {
  DraftEconomics economics(4);
  Simulate(economics, {.more_ns = 0.3e9, .right = 0}, 500, 1);
  EXPECT_FALSE(economics.figures().on);
  Simulate(economics, {.more_ns = 0.3e9, .right = 0.95}, 500, 2);
  EXPECT_TRUE(economics.figures().on);
  const Outcome later = Simulate(economics, {.more_ns = 0.3e9, .right = 0.95}, 300, 3);
  EXPECT_GT(later.mean_length(), 3);
}

TEST(DraftEconomics, ForgetsThatDraftsWereRight) {
  DraftEconomics economics(4);
  Simulate(economics, {.more_ns = 0.3e9, .right = 0.98}, 3000, 1);
  EXPECT_TRUE(economics.figures().on);
  Simulate(economics, {.more_ns = 0.3e9, .right = 0}, 60, 2);
  EXPECT_FALSE(economics.figures().on);
}

TEST(DraftEconomics, KeepsMeasuringStepsWithoutADraftWhileItIsOn) {
  DraftEconomics economics(4);
  Simulate(economics, {.right = 1}, 100, 1);
  size_t plain = 0;
  for (int step = 0; step < 129 * 4; ++step) {
    const size_t d = economics.Length();
    plain += d == 0 ? 1 : 0;
    economics.Record(d, d, 1000);
  }
  EXPECT_EQ(plain, 4u);
}

TEST(DraftEconomics, IsNearTheBestLengthOnEverySettingInSpiteOfNoise) {
  uint64_t seed = 0;
  for (const double right : {0.1, 0.4, 0.7, 0.9, 0.98}) {
    for (const double more : {0.02, 0.1, 0.3, 0.7}) {
      const Setting setting{.more_ns = more * 1e9, .right = right, .noise = 0.2};
      SCOPED_TRACE(::testing::Message()
                   << "right " << right << " more " << more << " seed " << ++seed);
      DraftEconomics economics(8);
      const Outcome outcome = Simulate(economics, setting, 2000, seed);
      const double best = BestGain(setting, 8);
      EXPECT_GE(outcome.speed() * setting.first_ns, 0.93 * best) << best;
    }
  }
}

TEST(DraftEconomics, OneSlowStepDoesNotMoveIt) {
  DraftEconomics economics(1);
  Simulate(economics, {.more_ns = 0.05e9, .right = 0.9}, 100, 1);
  const double ratio = economics.figures().time_ratio;
  economics.Record(1, 1, uint64_t{1'000'000'000'000});
  EXPECT_LT(economics.figures().time_ratio, 1.15 * ratio);
  EXPECT_TRUE(economics.figures().on);
}

TEST(DraftEconomics, DoesAsItIsToldAndSaysWhatItSaw) {
  DraftEconomics always(5, true);
  EXPECT_EQ(always.Length(), 5u);
  Simulate(always, {.more_ns = 1e9, .right = 0}, 50, 1);
  EXPECT_EQ(always.Length(), 5u);
  EXPECT_EQ(always.figures().length, 0u);  // There is nothing to compare with.
  EXPECT_EQ(always.Summary().find("time"), std::string::npos) << always.Summary();
  always.Record(0, 0, 1'000'000'000);
  EXPECT_EQ(always.Length(), 5u);
  EXPECT_LT(always.figures().gain, 1);
  EXPECT_NE(always.Summary().find("time"), std::string::npos) << always.Summary();
  DraftEconomics none(0);
  none.Record(0, 0, 1000);
  EXPECT_EQ(none.Length(), 0u);
  EXPECT_FALSE(none.figures().on);
  DraftEconomics unused(4);
  unused.Record(0, 0, 1000);
  DraftEconomics off(4);
  Simulate(off, {.more_ns = 1e9, .right = 0}, 50, 1);
  DraftEconomics on(4);
  Simulate(on, {.right = 1}, 50, 1);
  // Five different sentences.
  std::vector<std::string> sentences;
  for (const DraftEconomics* e : {&always, &none, &unused, &off, &on}) {
    sentences.push_back(e->Summary());
    EXPECT_EQ(std::count(sentences.begin(), sentences.end(), sentences.back()), 1);
  }
  EXPECT_NE(off.Summary().find("does not pay"), std::string::npos) << off.Summary();
  EXPECT_NE(on.Summary().find("pays"), std::string::npos) << on.Summary();
  EXPECT_NE(on.Summary().find(std::to_string(on.figures().accepted) + " of"), std::string::npos);
}

}  // namespace
}  // namespace penstock::text
