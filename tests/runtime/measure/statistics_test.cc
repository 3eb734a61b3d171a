#include "runtime/measure/statistics.h"

#include <vector>

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(Statistics, OfAnOddNumberOfSamplesInAnyOrder) {
  const std::vector<double> samples = {9, 1, 5, 3, 7};
  const Summary summary = Summarize(samples);
  EXPECT_EQ(summary.best, 1);
  EXPECT_EQ(summary.median, 5);
  EXPECT_EQ(summary.worst, 9);
  EXPECT_DOUBLE_EQ(summary.spread, (7.0 - 3.0) / 5.0);
}

TEST(Statistics, QuartilesLieBetweenSamples) {
  const std::vector<double> samples = {4, 1, 2, 3};
  const Summary summary = Summarize(samples);
  EXPECT_DOUBLE_EQ(summary.median, 2.5);
  EXPECT_DOUBLE_EQ(summary.spread, (3.25 - 1.75) / 2.5);
}

TEST(Statistics, OneSampleHasNoSpread) {
  const std::vector<double> samples = {42};
  const Summary summary = Summarize(samples);
  EXPECT_EQ(summary.best, 42);
  EXPECT_EQ(summary.median, 42);
  EXPECT_EQ(summary.worst, 42);
  EXPECT_EQ(summary.spread, 0);
}

TEST(Statistics, RatiosAreTakenRoundByRound) {
  // A disturbance that doubled one round of both leaves the ratio alone; that of the medians it
  // would not.
  const std::vector<double> a = {20, 44, 22}, b = {10, 20, 11};
  EXPECT_DOUBLE_EQ(MedianRatio(a, b), 2);
  EXPECT_DOUBLE_EQ(MedianRatio(b, a), 0.5);
}

}  // namespace
}  // namespace penstock
