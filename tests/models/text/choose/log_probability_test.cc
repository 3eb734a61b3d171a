#include "models/text/choose/log_probability.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

namespace penstock::text {
namespace {

constexpr size_t kManyIds = 163840;

double LogProbabilityOf(const std::vector<float>& logits, TokenId id) {
  const auto result = LogProbability(logits, id);
  EXPECT_TRUE(result);
  return result ? *result : 1;
}

void ExpectRelative(double got, double expected, double tolerance) {
  EXPECT_LE(std::abs(got - expected), tolerance * std::abs(expected)) << got << " " << expected;
}

TEST(NumericLogProbability, AgreesWithClosedForms) {
  // Uniform: -ln V.
  for (const size_t vocab : {size_t{1}, size_t{2}, size_t{3}, size_t{1000}, kManyIds}) {
    for (const float level : {0.0f, 1e30f, -1e30f, 1e-30f}) {
      ExpectRelative(LogProbabilityOf(std::vector<float>(vocab, level), vocab / 2),
                     -std::log(static_cast<double>(vocab)), 2e-15);
    }
  }
  // One against n - 1 others, d apart: -ln(1 + (n - 1) e^-d), and d lower for the others.
  for (const float d : {0.5f, 3.0f, 20.0f, 40.0f, 100.0f, 600.0f}) {
    std::vector<float> logits(1001, 7.0f);
    logits[5] = 7.0f + d;
    const double gap = logits[5] - 7.0;
    ExpectRelative(LogProbabilityOf(logits, 5), -std::log1p(1000 * std::exp(-gap)), 1e-14);
    ExpectRelative(LogProbabilityOf(logits, 6), -gap - std::log1p(1000 * std::exp(-gap)), 1e-14);
  }
  // Weights 1, 2, 4, ..., 2^19: each its share of 2^20 - 1, within the rounding of f32 logits.
  std::vector<float> powers;
  for (int k = 0; k < 20; ++k) powers.push_back(static_cast<float>(k * std::log(2.0)));
  for (int k = 0; k < 20; ++k) {
    EXPECT_NEAR(LogProbabilityOf(powers, static_cast<TokenId>(k)),
                k * std::log(2.0) - std::log(1048575.0), 2e-6);
  }
}

TEST(NumericLogProbability, AgreesWithLongDoubleAndSumsToOne) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal(0, 4);
    std::vector<float> logits(seed == 1 ? kManyIds : 300);
    for (float& logit : logits) logit = normal(random);
    long double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<long double>(logit));
    double total = 0;
    for (TokenId id = 0; id < 300; ++id) {
      const auto exact = static_cast<double>(static_cast<long double>(logits[id]) - std::log(sum));
      if (seed > 1 || id < 20) ExpectRelative(LogProbabilityOf(logits, id), exact, 4e-15);
      if (seed > 1) total += std::exp(LogProbabilityOf(logits, id));
    }
    if (seed > 1) {
      EXPECT_NEAR(total, 1, 1e-13);
    }
  }
}

TEST(NumericLogProbability, StaysFiniteAtTheEndsOfFloat) {
  const float most = std::numeric_limits<float>::max();
  EXPECT_EQ(LogProbabilityOf({most, -most}, 0), 0);
  EXPECT_EQ(LogProbabilityOf({most, -most}, 1), -2.0 * most);
  EXPECT_NEAR(LogProbabilityOf({most, most}, 1), -std::log(2.0), 1e-15);
  EXPECT_EQ(LogProbabilityOf({3}, 0), 0);
}

TEST(LogProbability, RefusesLogitsThatAreNotFinite) {
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    const auto result = LogProbability(std::vector<float>{1, 2, bad}, 0);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kUnsound);
    EXPECT_NE(result.error().message.find("id 2"), std::string::npos);
  }
}

TEST(NumericLogProbability, LogOnePlusAgreesWithLongDouble) {
  for (double x = 1e-300; x < 1e300; x *= 1.37) {
    ExpectRelative(LogOnePlus(x), static_cast<double>(std::log1p(static_cast<long double>(x))),
                   1e-15);
  }
  for (double x = 0.3; x < 2; x += 0.001) {
    ExpectRelative(LogOnePlus(x), static_cast<double>(std::log1p(static_cast<long double>(x))),
                   1e-15);
  }
  EXPECT_EQ(LogOnePlus(0), 0);
}

TEST(NumericScore, SumsAndGivesPerplexity) {
  Score score;
  EXPECT_EQ(score.perplexity(), std::nullopt);
  EXPECT_EQ(score.log_probability(), 0);
  // A uniform choice among 50: perplexity 50, whatever the length.
  for (size_t n = 1; n <= 100'000; ++n) {
    score.Add(-std::log(50.0));
    if (n == 1 || n == 100'000) ExpectRelative(*score.perplexity(), 50, 1e-14);
  }
  EXPECT_EQ(score.ids(), 100'000u);
  ExpectRelative(score.log_probability(), -100'000 * std::log(50.0), 1e-16);
  // Small ones beside a large one are not lost.
  Score mixed;
  mixed.Add(-1e16);
  for (int i = 0; i < 1000; ++i) mixed.Add(-0.5);
  EXPECT_EQ(mixed.log_probability(), -1e16 - 500);
  EXPECT_EQ(*mixed.perplexity(), std::numeric_limits<double>::infinity());
  Score sure;
  sure.Add(0);
  EXPECT_EQ(*sure.perplexity(), 1);
}

}  // namespace
}  // namespace penstock::text
