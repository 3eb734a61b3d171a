#include "models/text/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "runtime/options/options.h"

namespace penstock::text {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Sampler Make(SamplerOptions options) {
  auto sampler = Sampler::Create(options);
  EXPECT_TRUE(sampler) << sampler.error().message;
  return std::move(sampler).value();
}

// How often each id comes out over positions [0, draws).
std::vector<size_t> Counts(SamplerOptions options, const std::vector<float>& logits, size_t draws) {
  Sampler sampler = Make(options);
  std::vector<size_t> counts(logits.size());
  for (size_t position = 0; position < draws; ++position) {
    counts[*sampler.Sample(logits, position)]++;
  }
  return counts;
}

double ChiSquare(const std::vector<size_t>& counts, const std::vector<double>& probabilities) {
  const double draws = std::accumulate(counts.begin(), counts.end(), 0.0);
  double sum = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const double expected = draws * probabilities[i];
    if (probabilities[i] == 0) {
      EXPECT_EQ(counts[i], 0u) << i;
      continue;
    }
    sum += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  return sum;
}

std::vector<float> Logs(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

TEST(Sampler, IsGreedyByDefaultWithTiesToTheLowerId) {
  Sampler sampler = Make({});
  EXPECT_EQ(*sampler.Sample(std::vector<float>{1, 3, 2, 3}, 0), 1u);
  EXPECT_EQ(*sampler.Sample(std::vector<float>{-0.0f, 0.0f}, 7), 0u);
  EXPECT_EQ(*sampler.Sample(std::vector<float>{-5}, 7), 0u);
  EXPECT_EQ(*ArgMax(std::vector<float>{2, 2, 2}), 0u);
}

TEST(Sampler, RefusesLogitsThatAreNotFinite) {
  for (const double temp : {0.0, 1.0}) {
    Sampler sampler = Make({.temp = temp});
    for (const float bad : {kInf, -kInf, kNan}) {
      const auto id = sampler.Sample(std::vector<float>{0, 5, bad, kNan}, 3);
      ASSERT_FALSE(id);
      EXPECT_EQ(id.error().code, ErrorCode::kUnsound);
      EXPECT_NE(id.error().message.find("id 2"), std::string::npos) << id.error().message;
    }
  }
}

TEST(Sampler, RefusesOptionsOutOfRange) {
  const double nan = std::nan("");
  for (const SamplerOptions& options :
       {SamplerOptions{.temp = -1}, SamplerOptions{.temp = nan}, SamplerOptions{.temp = 1001},
        SamplerOptions{.top_p = -0.1}, SamplerOptions{.top_p = 1.1}, SamplerOptions{.top_p = nan},
        SamplerOptions{.min_p = -0.1}, SamplerOptions{.min_p = 2}, SamplerOptions{.min_p = nan}}) {
    const auto sampler = Sampler::Create(options);
    ASSERT_FALSE(sampler);
    EXPECT_EQ(sampler.error().code, ErrorCode::kRefused);
  }
}

TEST(Sampler, DeclaresItsOptions) {
  SamplerOptions options;
  OptionSet set;
  set.Add("sampling", options);
  const auto assign = [&](const char* name, const char* text) {
    const OptionRow* row = set.Find(name);
    EXPECT_NE(row, nullptr) << name;
    return row != nullptr && row->assign(text);
  };
  EXPECT_TRUE(assign("temp", "0.7"));
  EXPECT_TRUE(assign("top-k", "40"));
  EXPECT_TRUE(assign("top-p", "0.9"));
  EXPECT_TRUE(assign("min-p", "0.05"));
  EXPECT_TRUE(assign("seed", "18446744073709551615"));
  EXPECT_EQ(options.temp, 0.7);
  EXPECT_EQ(options.top_k, 40u);
  EXPECT_EQ(options.top_p, 0.9);
  EXPECT_EQ(options.min_p, 0.05);
  EXPECT_EQ(options.seed, std::numeric_limits<uint64_t>::max());
  // What a row lets through, Create accepts, and nothing else.
  for (const char* bad : {"-0.1", "nan", "1000.1"}) EXPECT_FALSE(assign("temp", bad)) << bad;
  for (const char* bad : {"-0.1", "nan", "1.1"}) EXPECT_FALSE(assign("top-p", bad)) << bad;
  EXPECT_FALSE(assign("top-k", "-1"));
  EXPECT_FALSE(assign("seed", "18446744073709551616"));
  EXPECT_TRUE(Sampler::Create(options));
}

TEST(Sampler, SamplesTheSoftmax) {
  const std::vector<double> p = {0.4, 0.05, 0.25, 0.1, 0.2};
  // 4 degrees of freedom: 18.5 is exceeded with probability 0.001; the seeds are fixed.
  for (const uint64_t seed : {0, 1, 2, 3}) {
    EXPECT_LT(ChiSquare(Counts({.temp = 1, .seed = seed}, Logs(p), 50'000), p), 18.5) << seed;
  }
  // Temperature 0.5 squares the odds, 2 takes their root.
  for (const double temp : {0.5, 2.0}) {
    std::vector<double> changed;
    for (const double each : p) changed.push_back(std::pow(each, 1 / temp));
    const double sum = std::accumulate(changed.begin(), changed.end(), 0.0);
    for (double& each : changed) each /= sum;
    EXPECT_LT(ChiSquare(Counts({.temp = temp}, Logs(p), 50'000), changed), 18.5) << temp;
    EXPECT_GT(ChiSquare(Counts({.temp = temp}, Logs(p), 50'000), p), 1000);
  }
}

TEST(Sampler, FiltersInTheOrderTopKTopPMinPTemperature) {
  const std::vector<double> p = {0.1, 0.4, 0.3, 0.2};
  const auto expect = [&](SamplerOptions options, const std::vector<double>& expected) {
    options.temp = options.temp == 0 ? 1 : options.temp;
    EXPECT_LT(ChiSquare(Counts(options, Logs(p), 20'000), expected), 16.3);
  };
  expect({.top_k = 2}, {0, 4 / 7., 3 / 7., 0});
  expect({.top_k = 4}, p);
  expect({.top_k = 100}, p);
  expect({.top_p = 0.6}, {0, 4 / 7., 3 / 7., 0});
  expect({.top_p = 0.95}, p);
  expect({.min_p = 0.6}, {0, 4 / 7., 3 / 7., 0});
  expect({.min_p = 0.4}, {0, 4 / 9., 3 / 9., 2 / 9.});
  // Top-p looks at what top-k left: 0.57 of it is below 0.6 (of everything, 0.4 is too).
  expect({.top_k = 2, .top_p = 0.56}, {0, 1, 0, 0});
  expect({.top_k = 3, .top_p = 0.7}, {0, 4 / 7., 3 / 7., 0});
  // The temperature comes last: at 1000 the filters still see the plain probabilities.
  expect({.temp = 1000, .top_p = 0.6}, {0, 0.5, 0.5, 0});
  expect({.temp = 1000, .min_p = 0.6}, {0, 0.5, 0.5, 0});
}

TEST(Sampler, KeepsAtLeastOneTokenAtEveryEdge) {
  const std::vector<float> logits = {0, 1, 5, 5, -3};
  for (const SamplerOptions& options :
       {SamplerOptions{.temp = 1, .top_p = 0}, SamplerOptions{.temp = 1, .top_k = 1},
        SamplerOptions{.temp = 1e-300}, SamplerOptions{.temp = 1, .top_p = 1e-300},
        SamplerOptions{.temp = 1, .top_k = 1, .top_p = 0, .min_p = 1}}) {
    const auto counts = Counts(options, logits, 200);
    if (options.temp == 1e-300) {  // The limit of the softmax: equal shares of the largest.
      EXPECT_EQ(counts[2] + counts[3], 200u);
      EXPECT_GT(std::min(counts[2], counts[3]), 60u);
    } else {
      EXPECT_EQ(counts[2], 200u);
    }
  }
  // min-p 1 keeps all of the largest; top-p 1 and min-p 0 keep everything.
  EXPECT_EQ(Counts({.temp = 1, .min_p = 1}, logits, 200)[0], 0u);
  EXPECT_GT(Counts({.temp = 1, .min_p = 1}, logits, 200)[3], 60u);
  const auto all = Counts({.temp = 1}, {0, 0, 0, 0}, 200);
  EXPECT_GT(*std::min_element(all.begin(), all.end()), 0u);
}

TEST(Sampler, TopPKeepsTheTokenThatCrosses) {
  // Four equal tokens: 0.5 is reached by two, anything above needs the third, lower ids first.
  const std::vector<float> equal = {1, 1, 1, 1};
  const auto kept = [&](double top_p) {
    const auto counts = Counts({.temp = 1, .top_p = top_p}, equal, 500);
    for (size_t i = 1; i < counts.size(); ++i) EXPECT_FALSE(counts[i] > 0 && counts[i - 1] == 0);
    return 4 - std::count(counts.begin(), counts.end(), 0u);
  };
  EXPECT_EQ(kept(0), 1);
  EXPECT_EQ(kept(0.25), 1);
  EXPECT_EQ(kept(0.26), 2);
  EXPECT_EQ(kept(0.5), 2);
  EXPECT_EQ(kept(0.51), 3);
  EXPECT_EQ(kept(0.75), 3);
  EXPECT_EQ(kept(0.76), 4);
  EXPECT_EQ(kept(1), 4);
}

TEST(Sampler, ApproachesGreedyAsTheTemperatureFalls) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (size_t round = 0; round < 50; ++round) {
    std::vector<float> logits(300);
    for (float& logit : logits) logit = normal(random);
    for (const double temp : {1e-6, 1e-30, 5e-324}) {
      EXPECT_EQ(*Make({.temp = temp}).Sample(logits, round), *ArgMax(logits));
    }
  }
}

TEST(Sampler, IsAFunctionOfSeedAndPositionOnly) {
  std::vector<float> logits(100);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>((i * 37) % 11);
  const SamplerOptions options{.temp = 1, .top_k = 50, .top_p = 0.9, .seed = 42};
  Sampler forward = Make(options);
  std::vector<TokenId> ids;
  for (size_t position = 0; position < 200; ++position) {
    ids.push_back(*forward.Sample(logits, position));
  }
  Sampler backward = Make(options);
  for (size_t position = 200; position-- > 0;) {
    (void)backward.Sample(std::vector<float>{1, 2},
                          position * 3);  // A larger and smaller row between.
    EXPECT_EQ(*backward.Sample(logits, position), ids[position]);
  }
  Sampler other = Make({.temp = 1, .top_k = 50, .top_p = 0.9, .seed = 43});
  size_t same = 0;
  for (size_t position = 0; position < 200; ++position) {
    same += *other.Sample(logits, position) == ids[position];
  }
  EXPECT_LT(same, 60u);
}

// The same on every machine and compiler: a change here changes every seeded run. The values come
// from a separate program that follows the header.
TEST(Sampler, HasFixedNumbers) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(SamplerUniform(0, 0), 0x1.4e0dba5e9a32fp-1);
  EXPECT_EQ(SamplerUniform(0, 1), 0x1.6705460be8829p-1);
  EXPECT_EQ(SamplerUniform(1, 0), 0x1.7906ac21d0e58p-2);
  EXPECT_EQ(SamplerUniform(42, 1000), 0x1.63f919049aa49p-1);
  EXPECT_EQ(SamplerUniform(kMost, kMost), 0x1.1140638c16042p-2);
  std::vector<float> logits(2048);
  for (size_t i = 0; i < logits.size(); ++i) {
    logits[i] = static_cast<float>((i * 7919) % 2048) / 256;
  }
  Sampler sampler = Make({.temp = 0.7, .top_p = 0.9, .seed = 1});
  std::vector<TokenId> ids;
  for (size_t position = 0; position < 12; ++position) {
    ids.push_back(*sampler.Sample(logits, position));
  }
  EXPECT_EQ(ids, (std::vector<TokenId>{863, 1757, 1928, 376, 1403, 406, 1606, 1313, 1538, 1328,
                                       1681, 129}));
}

TEST(Sampler, IsUniformOverPositionsAndOverSeeds) {
  constexpr size_t kBins = 64, kDraws = 64'000;
  const std::vector<double> equal(kBins, 1.0 / kBins);
  const auto bin = [](double u) { return static_cast<size_t>(u * kBins); };
  for (const uint64_t fixed : {uint64_t{0}, uint64_t{7}, ~uint64_t{0}}) {
    std::vector<size_t> positions(kBins), seeds(kBins), diagonal(kBins);
    double serial = 0;
    for (uint64_t i = 0; i < kDraws; ++i) {
      const double u = SamplerUniform(fixed, i);
      ASSERT_GE(u, 0);
      ASSERT_LT(u, 1);
      positions[bin(u)]++;
      seeds[bin(SamplerUniform(i, fixed))]++;
      diagonal[bin(SamplerUniform(fixed + i, i))]++;
      serial += (u - 0.5) * (SamplerUniform(fixed, i + 1) - 0.5);
    }
    // 63 degrees of freedom: 103.4 is exceeded with probability 0.001.
    EXPECT_LT(ChiSquare(positions, equal), 103.4);
    EXPECT_LT(ChiSquare(seeds, equal), 103.4);
    EXPECT_LT(ChiSquare(diagonal, equal), 103.4);
    EXPECT_LT(std::abs(serial / kDraws * 12), 4 / std::sqrt(kDraws));
  }
  EXPECT_NE(SamplerUniform(1, 2), SamplerUniform(2, 1));
}

TEST(NumericSamplerExp, IsWithinTwoUnitsOfTheTrueValue) {
  EXPECT_EQ(SamplerExp(0), 1);
  EXPECT_EQ(SamplerExp(-0.0), 1);
  EXPECT_EQ(SamplerExp(-709), 0);
  EXPECT_EQ(SamplerExp(-std::numeric_limits<double>::infinity()), 0);
  EXPECT_GT(SamplerExp(-708), 0);
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> near(-1, 0), far(-708, 0), log(-300, 0);
  double worst = 0;
  for (int i = 0; i < 300'000; ++i) {
    for (const double x : {near(random), far(random), -std::pow(10, log(random))}) {
      const double expected = std::exp(x);
      worst = std::max(worst, std::abs(SamplerExp(x) - expected) / expected);
    }
  }
  EXPECT_LT(worst, 1e-15);
  EXPECT_LT(worst, 4.5e-16);
}

TEST(NumericSamplerExp, DoesNotRise) {
  double before = 1;
  for (double x = 0; x > -50; x -= 0x1p-10) {
    const double y = SamplerExp(x);
    EXPECT_LE(y, before);
    before = y;
  }
}

}  // namespace
}  // namespace penstock::text
