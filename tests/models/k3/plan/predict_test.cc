#include "models/k3/plan/predict.h"

#include <gtest/gtest.h>

#include "models/k3/plan/step_model.h"
#include "runtime/size.h"
#include "tests/models/k3/plan/released.h"

namespace penstock::k3 {
namespace {

// `pieces` of 8 MiB, read at 1 byte a ns, each computed in `compute_ns`, in layers of four.
StepModel Uniform(size_t pieces, double compute_ns) {
  StepModel model;
  for (size_t i = 0; i < pieces; ++i) {
    StepModel::Piece piece;
    piece.layer = static_cast<uint32_t>(i / 4);
    piece.read_bytes = piece.ring_bytes = 8 * kMiB;
    piece.compute_ns = compute_ns;
    model.pieces.push_back(piece);
  }
  model.device_rate = 1e9;
  model.window_bytes = 8 * kMiB;
  model.read_bytes = 4 * kMiB;
  model.ring_bytes = 64 * kMiB;
  return model;
}
constexpr double kReadNs = 8.0 * kMiB;

TEST(PredictStep, TheSlowerOfDeviceAndComputeIsTheStep) {
  const Prediction device = PredictStep(Uniform(100, 0.25 * kReadNs));
  EXPECT_NEAR(device.ns, 100 * kReadNs, kReadNs);
  EXPECT_EQ(device.bound, StepBound::kDevice);
  EXPECT_NEAR(device.compute_ns, 25 * kReadNs, 1);
  EXPECT_NEAR(device.device_ns, 100 * kReadNs, kReadNs);
  const Prediction compute = PredictStep(Uniform(100, 3 * kReadNs));
  EXPECT_NEAR(compute.ns, 300 * kReadNs, kReadNs);
  EXPECT_EQ(compute.bound, StepBound::kCompute);
  const Prediction equal = PredictStep(Uniform(100, kReadNs));
  EXPECT_NEAR(equal.ns, 100 * kReadNs, 2 * kReadNs);
}

TEST(PredictStep, ARingOfOnePieceOverlapsNothing) {
  StepModel model = Uniform(100, 0.5 * kReadNs);
  model.ring_bytes = 8 * kMiB;
  EXPECT_NEAR(PredictStep(model).ns, 150 * kReadNs, 1);
  model.ring_bytes = 16 * kMiB;
  EXPECT_NEAR(PredictStep(model).ns, 100 * kReadNs, kReadNs);
}

TEST(PredictStep, DepthOfOneLayerWaitsAtEachLayer) {
  StepModel model = Uniform(100, kReadNs);
  model.depth = 1;
  // Of each layer the first piece is waited for, and the device for the last one.
  EXPECT_NEAR(PredictStep(model).ns, 25 * 5 * kReadNs, 2 * kReadNs);
}

TEST(PredictStep, ReadAheadGoesOnBetweenSteps) {
  StepModel model = Uniform(100, 0.5 * kReadNs);
  model.step_ns = 5 * kReadNs;  // The ring of eight holds what is read meanwhile.
  EXPECT_NEAR(PredictStep(model).ns, 100 * kReadNs, kReadNs);
  model.step_ns = 20 * kReadNs;
  EXPECT_NEAR(PredictStep(model).ns, 112 * kReadNs, 2 * kReadNs);
}

TEST(PredictStep, DemandedReadsWaitBehindTheWindow) {
  StepModel model = Uniform(40, 0);
  model.pieces[19].chooses_experts = model.pieces[20].feeds_experts = true;
  model.pieces[21].after_experts = true;
  model.chosen_experts = 2;
  model.expert_bytes = 4 * kMiB;
  const Prediction missed = PredictStep(model);
  EXPECT_NEAR(missed.ns, 41 * kReadNs, 1) << "the device reads on, whatever waits";
  EXPECT_GT(missed.expert_wait_ns, 0);
  model.expert_hits = 1;
  EXPECT_NEAR(PredictStep(model).ns, 40 * kReadNs, 1);
  model.expert_hits = 0.5;
  EXPECT_NEAR(PredictStep(model).ns, 40.5 * kReadNs, 1);

  // Nothing else to read: what is waited for are the experts.
  for (auto& piece : model.pieces) piece.read_bytes = piece.ring_bytes = 0;
  model.expert_hits = 0;
  model.pieces[30].compute_ns = 0.5 * kReadNs;
  const Prediction wait = PredictStep(model);
  EXPECT_NEAR(wait.ns, 1.5 * kReadNs, 1);
  EXPECT_NEAR(wait.expert_wait_ns, kReadNs, 1);
  model.pieces[20].compute_ns = 0.75 * kReadNs;  // Computed while they come.
  EXPECT_NEAR(PredictStep(model).expert_wait_ns, 0.25 * kReadNs, 1);
}

TEST(PredictStep, TheSlowestExpertCountsOnItsOneCore) {
  StepModel model = Uniform(3, 0);
  for (auto& piece : model.pieces) piece.read_bytes = piece.ring_bytes = 0;
  model.pieces[0].chooses_experts = model.pieces[0].feeds_experts = true;
  model.pieces[1].after_experts = true;
  model.chosen_experts = 16;
  model.expert_hits = 1;
  model.expert_ns = 1000;
  model.experts_abreast = 16;
  EXPECT_NEAR(PredictStep(model).ns, 1000 + 15 * 1000.0 / 16, 1);
  model.experts_abreast = 2;
  EXPECT_NEAR(PredictStep(model).ns, 8500, 1);
}

// Half of the layers pinned: one after the other the device would idle while the first half is
// computed; spread, and with a ring for it, it does not.
TEST(PredictStep, SpreadPinsKeepTheDeviceBusy) {
  StepModel model = Uniform(96, 0.5 * kReadNs);
  const auto pin = [&](auto pinned) {
    StepModel out = model;
    for (auto& piece : out.pieces) {
      if (pinned(piece.layer)) piece.read_bytes = piece.ring_bytes = 0;
    }
    return PredictStep(out).ns;
  };
  const double first = pin([](uint32_t layer) { return layer < 12; });
  const double spread = pin([](uint32_t layer) { return SpreadContains(layer, 12, 24); });
  EXPECT_NEAR(spread, 48 * kReadNs, 2 * kReadNs) << "as long as what is read";
  EXPECT_GT(first, 60 * kReadNs);
}

TEST(PredictStep, TheReleaseOnADesktop) {
  const Shape shape = ReleasedShape();
  const WeightBytes weights = *AssumeWeights(shape, 8 * kMiB, 0);
  MemoryNeeds needs;
  needs.process_bytes = 40 * kMiB;
  needs.context = 4096;
  needs.budget_bytes = 8'240'000'000;
  needs.budget_from = "--memory";
  const auto plan = PlanMemory(needs, {}, weights, shape);
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  EXPECT_GE(plan->ring_bytes, kWantedRingBytes) << "the trunk is read ahead of its use";
  EXPECT_GE(plan->slots, shape.top_k);
  EXPECT_LE(plan->total_bytes(), needs.budget_bytes);
  MachineRates rates;
  rates.cores = 16;
  rates.device = 7e9;
  const Prediction p = PredictStep(MakeStepModel(weights, *plan, shape, rates, {}));
  const double pinned = static_cast<double>(plan->pinned_payload);
  const double least = (136'990'317'568.0 - 9e6 - pinned) / 7e9 * 1e9;
  EXPECT_EQ(p.bound, StepBound::kDevice);
  EXPECT_GE(p.ns, 0.999 * least);
  EXPECT_LE(p.ns, 1.03 * least);
}

TEST(StepModel, HitsOfUniformUse) {
  const WeightBytes weights = *AssumeWeights(ReleasedShape(), 8 * kMiB, 0);
  EXPECT_EQ(ExpectedHits(weights, 16), 0);
  EXPECT_NEAR(ExpectedHits(weights, 82'432 / 4), 0.25, 1e-6);
  EXPECT_EQ(ExpectedHits(weights, 82'432), 1);
}

}  // namespace
}  // namespace penstock::k3
