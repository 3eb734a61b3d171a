#include "models/k3/plan/planner.h"

#include <gtest/gtest.h>

#include "models/k3/layers/activations.h"
#include "models/k3/plan/preset.h"
#include "models/k3/state/state.h"
#include "runtime/options/options.h"
#include "tests/models/k3/plan/released.h"
#include "tests/models/k3/tiny_model.h"

namespace penstock::k3 {
namespace {

struct PlannerFixture {
  PlannerFixture()
      : files(*io::FileSet::Open(tiny.catalogue->files(), io::DirectMode::kNever, nullptr)),
        weights(MeasureWeights(*tiny.catalogue, tiny.shape(), *tiny.pass, files)) {
    needs.process_bytes = 20 * kMiB;
    needs.context = 100;
    needs.budget_bytes = 256 * kMiB;
    needs.budget_from = "--memory";
    options.pin = "0";
  }
  Result<MemoryPlan> Plan() { return PlanMemory(needs, options, weights, tiny.shape()); }
  // Bytes of whole layers, counted by hand.
  uint64_t LayerBytes(size_t layer) const {
    uint64_t bytes = 0;
    for (uint32_t i = weights.layer_first[layer]; i < weights.layer_first[layer + 1]; ++i) {
      bytes += RoundUp(files.RoundedBytes(tiny.pass->extents()[i].extent), files.Alignment());
    }
    return bytes;
  }
  TinyModel tiny;
  io::FileSet files;
  WeightBytes weights;
  MemoryNeeds needs;
  PipelineOptions options;
};

TEST(Planner, PositionsOfAStepAreCharged) {
  PlannerFixture fixture;
  const auto one = fixture.Plan();
  fixture.needs.positions = 8;
  const auto eight = fixture.Plan();
  ASSERT_TRUE(one.has_value() && eight.has_value());
  const Shape& shape = fixture.tiny.shape();
  EXPECT_EQ(eight->fixed_bytes - one->fixed_bytes,
            Activations::Bytes(shape, 8, 8) - Activations::Bytes(shape, 1, 1) +
                StateStore::Bytes(shape, 100, 8) - StateStore::Bytes(shape, 100, 1));
  EXPECT_GE(Activations::Bytes(shape, 8, 8) - Activations::Bytes(shape, 1, 1),
            7 * (shape.vocab + 5 * shape.hidden) * sizeof(float));
}

TEST(Planner, PartsAddUpToTheTotalWithinTheBudget) {
  PlannerFixture fixture;
  const auto plan = fixture.Plan();
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  uint64_t sum = 0;
  for (const auto& [name, bytes] : plan->parts) sum += bytes;
  EXPECT_EQ(sum, plan->total_bytes());
  EXPECT_LE(sum, plan->budget_bytes);
  EXPECT_EQ(plan->slots, 8u * 32) << "there is room for every expert, and no more are reserved";
}

TEST(Planner, TheSmallestBudgetIsExactAndTheOneNamedWorks) {
  PlannerFixture fixture;
  fixture.needs.budget_bytes = 1;
  const auto refused = fixture.Plan();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kRefused);
  const std::string marker = " bytes, and ";
  const size_t at = refused.error().message.find(marker);
  ASSERT_NE(at, std::string::npos) << refused.error().message;
  const uint64_t named = std::stoull(refused.error().message.substr(at + marker.size()));

  // The smallest one that works, found by halving.
  uint64_t too_small = 1;
  uint64_t least = named;
  while (least - too_small > 1) {
    fixture.needs.budget_bytes = too_small + (least - too_small) / 2;
    (fixture.Plan().has_value() ? least : too_small) = fixture.needs.budget_bytes;
  }
  EXPECT_GE(named, least + (1 << 20)) << "room for what differs from run to run";
  EXPECT_LE(named, least + (2 << 20));
  fixture.needs.budget_bytes = least;
  const auto plan = fixture.Plan();
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->slots, 1u);
  EXPECT_EQ(plan->ring_bytes, plan->largest_extent);
  EXPECT_EQ(plan->total_bytes(), least);
  EXPECT_EQ(plan->least_bytes, least);
}

TEST(Planner, WithTheBudgetThatOverlapsRingAndExpertsAreAsWanted) {
  PlannerFixture fixture;
  fixture.needs.budget_bytes = fixture.Plan()->overlap_bytes;
  const auto plan = *fixture.Plan();
  EXPECT_EQ(plan.total_bytes(), fixture.needs.budget_bytes);
  EXPECT_EQ(plan.slots, fixture.tiny.shape().top_k);
  uint64_t streamed = 0;
  for (const PieceBytes& piece : fixture.weights.pieces) streamed += piece.buffer;
  EXPECT_EQ(plan.ring_bytes, streamed) << "the whole pass is smaller than the ring that is wanted";
}

TEST(Planner, OverridesAreKeptOrRefusedWithBothNumbers) {
  PlannerFixture fixture;
  fixture.options.ring.bytes = 1 * kMiB;
  const auto slot = fixture.Plan()->slot_bytes;
  fixture.options.expert_cache.bytes = 3 * slot + 1;
  const auto plan = fixture.Plan();
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->ring_bytes, 1 * kMiB);
  EXPECT_EQ(plan->slots, 3u);

  fixture.options.expert_cache.bytes = slot - 1;
  EXPECT_FALSE(fixture.Plan().has_value());
  fixture.options.expert_cache.bytes = 0;
  fixture.options.ring.bytes = plan->largest_extent - 1;
  const auto refused = fixture.Plan();
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find(std::to_string(plan->largest_extent)), std::string::npos);
}

TEST(Planner, PinsAreWholeLayersSpreadEvenly) {
  PlannerFixture fixture;
  fixture.options.pin = "4";
  const auto four = *fixture.Plan();
  EXPECT_EQ(four.pinned_layers, 4u);
  const size_t layers = fixture.tiny.shape().layers + 1;
  std::vector<uint32_t> expected;
  std::vector<size_t> chosen;
  uint64_t bytes = 0;
  for (size_t layer = 0; layer < layers; ++layer) {
    if (!SpreadContains(layer, 4, layers)) continue;
    chosen.push_back(layer);
    bytes += fixture.LayerBytes(layer);
    for (uint32_t i = fixture.tiny.pass->FirstExtentOf(layer);
         i < fixture.tiny.pass->FirstExtentOf(layer + 1); ++i) {
      expected.push_back(i);
    }
  }
  ASSERT_EQ(chosen.size(), 4u);
  for (size_t i = 1; i < 4; ++i) {
    EXPECT_LE(chosen[i] - chosen[i - 1], (layers + 3) / 4) << "no two of them are far apart";
    EXPECT_GE(chosen[i] - chosen[i - 1], layers / 4);
  }
  EXPECT_EQ(four.pinned, expected);
  EXPECT_EQ(four.pinned_bytes, bytes);

  fixture.options.pin = std::to_string(four.pinned_bytes) + "B";
  EXPECT_GE(fixture.Plan()->pinned_layers, 4u) << "as many as fit the size";
  EXPECT_LE(fixture.Plan()->pinned_bytes, four.pinned_bytes);

  fixture.options.pin = "1000";
  const auto all = *fixture.Plan();
  EXPECT_EQ(all.pinned_layers, layers) << "the head counts as the last";
  EXPECT_EQ(all.pinned.size(), fixture.tiny.pass->extents().size());
}

TEST(Planner, ASpreadHoldsAsManyAsItSays) {
  for (const size_t layers : {1, 2, 9, 94}) {
    for (size_t count = 0; count <= layers; ++count) {
      size_t held = 0;
      for (size_t layer = 0; layer < layers; ++layer) held += SpreadContains(layer, count, layers);
      EXPECT_EQ(held, count) << layers;
    }
  }
}

// The trunk takes what ring and experts of one layer leave, then the cache takes the rest.
TEST(Planner, AutoPinsAsManyLayersAsTheBudgetHolds) {
  PlannerFixture fixture;
  const uint64_t overlap = fixture.Plan()->overlap_bytes;
  fixture.options.pin = "auto";
  fixture.needs.budget_bytes = overlap;
  EXPECT_EQ(fixture.Plan()->pinned_layers, fixture.tiny.shape().layers + 1)
      << "where the ring would hold the whole pass, it may as well be pinned";
  fixture.options.ring.bytes = kMiB;
  uint64_t last = 0;
  for (uint64_t budget = overlap; budget < overlap + 8 * kMiB; budget += 300'000) {
    fixture.needs.budget_bytes = budget;
    const auto plan = *fixture.Plan();
    EXPECT_GE(plan.pinned_layers, last);
    last = plan.pinned_layers;
    EXPECT_GE(plan.slots, fixture.tiny.shape().top_k);
    EXPECT_LE(plan.total_bytes(), budget);
    // One layer more, and the budget would not hold what is wanted besides.
    fixture.options.pin = std::to_string(plan.pinned_layers + 1);
    const auto more = fixture.Plan();
    fixture.options.pin = "auto";
    if (plan.pinned_layers <= fixture.tiny.shape().layers) {
      EXPECT_TRUE(!more || more->slots < fixture.tiny.shape().top_k) << budget;
    }
  }
  EXPECT_EQ(last, fixture.tiny.shape().layers + 1) << "in the end all of them fit";
  fixture.needs.budget_bytes = kGiB;
  EXPECT_EQ(fixture.Plan()->slots, 8u * 32) << "and then the experts";
}

// What pins do not want lets the device read further ahead, once the experts of a layer have theirs.
TEST(Planner, TheRingTakesASixteenthOfAnAmpleBudget) {
  const Shape shape = ReleasedShape();
  const WeightBytes weights = *AssumeWeights(shape, 8 * kMiB, 0);
  PipelineOptions options;
  options.pin = "0";
  MemoryNeeds needs;
  needs.context = 100;
  needs.budget_from = "--memory";
  const auto plan = [&](uint64_t budget) {
    needs.budget_bytes = budget;
    return *PlanMemory(needs, options, weights, shape);
  };
  const MemoryPlan least = plan(plan(64 * kGiB).overlap_bytes);
  EXPECT_EQ(least.ring_bytes, kWantedRingBytes);
  EXPECT_EQ(least.slots, weights.top_k);
  EXPECT_EQ(plan(4 * kGiB).ring_bytes, 4 * kGiB / 16);
  EXPECT_EQ(plan(64 * kGiB).ring_bytes, 512 * kMiB);
  EXPECT_GT(plan(64 * kGiB).slots, 1000u);
  options.ring.bytes = 100 * kMiB;
  EXPECT_EQ(plan(64 * kGiB).ring_bytes, 100 * kMiB);
}

TEST(Planner, PresetsGiveWayToWhatIsAsked) {
  PlannerFixture fixture;
  OptionSet rows;
  rows.Add("", fixture.options);
  for (const Preset& preset : Presets()) {
    EXPECT_TRUE(rows.Find("preset")->assign(preset.name)) << preset.name;
    EXPECT_NE(PresetTable().find(preset.name), std::string::npos);
  }
  EXPECT_FALSE(rows.Find("preset")->assign("17g"));

  fixture.options = {};
  fixture.options.preset = "32g";
  EXPECT_EQ(ApplyPreset(fixture.options).memory.bytes, 30 * kGiB);
  fixture.options.memory.bytes = kGiB;
  EXPECT_EQ(ApplyPreset(fixture.options).memory.bytes, kGiB);

  fixture.options = {};
  fixture.options.preset = "least";
  fixture.options = ApplyPreset(fixture.options);
  const auto least = *fixture.Plan();
  EXPECT_EQ(least.pinned_layers, 0u);
  EXPECT_EQ(least.slots, 1u);
  EXPECT_EQ(least.ring_bytes, least.largest_extent);
  fixture.options.pin = "2";
  fixture.options.expert_cache.bytes = 5 * least.slot_bytes;
  fixture.options = ApplyPreset(fixture.options);
  const auto more = *fixture.Plan();
  EXPECT_EQ(more.pinned_layers, 2u);
  EXPECT_EQ(more.slots, 5u);
}

TEST(Planner, AnImageOfTheFilesIsCharged) {
  PlannerFixture fixture;
  const uint64_t before = fixture.Plan()->fixed_bytes;
  fixture.needs.image_bytes = 5 * kMiB;
  EXPECT_EQ(fixture.Plan()->fixed_bytes, before + 5 * kMiB);
}

}  // namespace
}  // namespace penstock::k3
