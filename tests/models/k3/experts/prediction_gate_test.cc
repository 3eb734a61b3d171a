#include "models/k3/experts/prediction_gate.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace penstock::k3 {
namespace {

constexpr size_t kExperts = 64;
constexpr size_t kTopK = 8;
constexpr double kExpertBytes = 1e6;

// A device that reads an expert in a millisecond, and a layer that leaves it idle for so long.
struct Device {
  double idle_seconds = 8e-3;
  AheadTiming timing{1e-3, 2e6, kExpertBytes};
};

// One layer, step after step: each list names `right` experts of the choice at its best ranks.
class OneLayer {
 public:
  explicit OneLayer(PredictMode mode, Device device = {})
      : gate(1, kExperts, kTopK, mode), device_(device) {}

  std::vector<uint32_t> Step(
      size_t next_right, size_t previous_right,
      const std::function<bool(uint32_t)>& here = [](uint32_t) { return false; }) {
    std::vector<uint32_t> all(kExperts);
    std::iota(all.begin(), all.end(), 0);
    std::shuffle(all.begin(), all.end(), random_);
    const std::vector<uint32_t> chosen(all.begin(), all.begin() + kTopK);
    const auto list = [&](size_t right, size_t wrong_from) {
      std::vector<uint32_t> experts(chosen.begin(), chosen.begin() + right);
      for (size_t i = 0; experts.size() < kTopK; ++i) experts.push_back(all[wrong_from + i]);
      return experts;
    };
    gate.Offer(0, list(next_right, kTopK), list(previous_right, 2 * kTopK), here);
    std::vector<uint32_t> read;
    gate.Choose(0, device_.timing, {expert_bytes, wasted_bytes, 0}, read);
    for (const uint32_t expert : read) {
      const bool useful = std::find(chosen.begin(), chosen.end(), expert) != chosen.end();
      issued += 1;
      wasted_bytes += useful ? 0 : kExpertBytes;
      expert_bytes += useful ? 0 : kExpertBytes;
    }
    expert_bytes += kTopK * kExpertBytes;
    gate.Score(0, chosen, device_.idle_seconds);
    gate.EndStep();
    return read;
  }

  PredictionGate gate;
  double expert_bytes = 0;
  double wasted_bytes = 0;
  size_t issued = 0;

 private:
  Device device_;
  std::mt19937 random_{7};
};

TEST(PredictionGate, NothingIsReadBeforeAnythingIsKnown) {
  OneLayer run(PredictMode::kNext);
  EXPECT_TRUE(run.Step(kTopK, 0).empty());
}

TEST(PredictionGate, RanksThatAreRightAreReadAndTheOthersAreNot) {
  OneLayer run(PredictMode::kNext);
  for (int step = 0; step < 40; ++step) run.Step(5, 0);
  EXPECT_EQ(run.Step(5, 0).size(), 5u);
  EXPECT_NEAR(run.gate.recall(Source::kNext, 0), 5.0 / kTopK, 0.02);
  EXPECT_GT(run.gate.precision(Source::kNext, 0, 4), 0.9);
  EXPECT_LT(run.gate.precision(Source::kNext, 0, 5), 0.1);
}

TEST(PredictionGate, WhatIsHereIsNotRead) {
  OneLayer run(PredictMode::kNext);
  for (int step = 0; step < 40; ++step) run.Step(5, 0);
  EXPECT_TRUE(run.Step(5, 0, [](uint32_t) { return true; }).empty());
}

TEST(PredictionGate, ADeviceThatIsNeverIdleIsAskedForNothing) {
  Device busy;
  busy.idle_seconds = 1e-6;
  OneLayer run(PredictMode::kNext, busy);
  for (int step = 0; step < 40; ++step) EXPECT_TRUE(run.Step(4, 0).empty());
}

TEST(PredictionGate, NoMoreIsReadThanTheDeviceIsIdleFor) {
  Device device;
  device.idle_seconds = 3e-3;
  OneLayer run(PredictMode::kNext, device);
  for (int step = 0; step < 40; ++step) run.Step(kTopK, 0);
  EXPECT_EQ(run.Step(kTopK, 0).size(), 3u);
}

TEST(PredictionGate, AutoTakesTheBetterSourceAndComesBack) {
  OneLayer run(PredictMode::kAuto);
  for (int step = 0; step < 80; ++step) run.Step(2, 7);
  EXPECT_NE(run.gate.Pick(0), Source::kNext);
  EXPECT_GE(run.Step(2, 7).size(), 6u);
  for (int step = 0; step < 200; ++step) run.Step(7, 0);
  EXPECT_NE(run.gate.Pick(0), Source::kPrevious);
  EXPECT_GE(run.Step(7, 0).size(), 6u);
  for (int step = 0; step < 200; ++step) run.Step(0, 0);
  EXPECT_TRUE(run.Step(0, 0).empty()) << "neither is worth anything";
  for (int step = 0; step < 200; ++step) run.Step(7, 0);
  EXPECT_GE(run.Step(7, 0).size(), 6u);
}

// Lists without information: what is chosen has nothing to do with them.
TEST(PredictionGate, GuessesAreHardlyEverRead) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (const size_t experts : {size_t{24}, size_t{896}}) {
    PredictionGate gate(1, experts, kTopK, PredictMode::kAuto);
    std::vector<uint32_t> all(experts);
    std::iota(all.begin(), all.end(), 0);
    const auto draw = [&] {
      std::shuffle(all.begin(), all.end(), random);
      return std::vector<uint32_t>(all.begin(), all.begin() + kTopK);
    };
    std::vector<uint32_t> previous = draw();
    size_t issued = 0;
    for (int step = 0; step < 1000; ++step) {
      gate.Offer(0, draw(), previous, [](uint32_t) { return false; });
      std::vector<uint32_t> read;
      gate.Choose(0, Device().timing, {1e12, 0, 0}, read);
      issued += read.size();
      previous = draw();
      gate.Score(0, previous, 8e-3);
      gate.EndStep();
    }
    EXPECT_LE(issued, 1000 * kTopK * 3 / 100) << experts;
  }
}

TEST(PredictionGate, WasteStaysWithinItsShare) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  OneLayer run(PredictMode::kNext);
  for (int step = 0; step < 500; ++step) run.Step(random() % (kTopK + 1), 0);
  EXPECT_GT(run.issued, 0u);
  // What is likely is within the share; the last list may have had no luck at all.
  EXPECT_LE(run.wasted_bytes, PredictionGate::kMostWaste * run.expert_bytes + kTopK * kExpertBytes);
  EXPECT_GT(run.wasted_bytes, 0);
}

// A router that is never worth it is looked at now and then only.
TEST(PredictionGate, ALayerWithoutInformationSleeps) {
  OneLayer run(PredictMode::kAuto);
  EXPECT_TRUE(run.gate.WantsNext(0, 1));
  for (int step = 0; step < 40; ++step) run.Step(0, 0);
  size_t wanted = 0;
  for (uint64_t step = 0; step < 80; ++step) wanted += run.gate.WantsNext(0, step) ? 1 : 0;
  EXPECT_EQ(wanted, 10u);
  for (int step = 0; step < 10; ++step) run.Step(kTopK, 0);
  EXPECT_TRUE(run.gate.WantsNext(0, 1)) << "it has become good";
  EXPECT_FALSE(PredictionGate(1, kExperts, kTopK, PredictMode::kPrevious).WantsNext(0, 0));
}

TEST(PredictionGate, NamesOfModes) {
  EXPECT_EQ(ParsePredictMode("off"), PredictMode::kOff);
  EXPECT_EQ(ParsePredictMode("next"), PredictMode::kNext);
  EXPECT_EQ(ParsePredictMode("previous"), PredictMode::kPrevious);
  EXPECT_EQ(ParsePredictMode("both"), PredictMode::kBoth);
  EXPECT_EQ(ParsePredictMode("auto"), PredictMode::kAuto);
}

}  // namespace
}  // namespace penstock::k3
