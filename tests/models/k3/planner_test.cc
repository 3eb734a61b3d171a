#include "models/k3/planner.h"

#include <gtest/gtest.h>

#include "tests/models/k3/tiny_model.h"

namespace penstock::k3 {
namespace {

struct Fixture {
  Fixture() : files(*io::FileSet::Open(tiny.catalogue->files(), io::DirectMode::kNever, nullptr)) {
    needs.process_bytes = 20 * kMiB;
    needs.context = 100;
    needs.budget_bytes = 256 * kMiB;
    needs.budget_from = "--memory";
  }
  Result<MemoryPlan> Plan() {
    return PlanMemory(needs, options, *tiny.catalogue, tiny.shape(), *tiny.pass, files);
  }
  TinyModel tiny;
  io::FileSet files;
  MemoryNeeds needs;
  PipelineOptions options;
};

TEST(Planner, PartsAddUpToTheTotalWithinTheBudget) {
  Fixture fixture;
  const auto plan = fixture.Plan();
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  uint64_t sum = 0;
  for (const auto& [name, bytes] : plan->parts) sum += bytes;
  EXPECT_EQ(sum, plan->total_bytes());
  EXPECT_LE(sum, plan->budget_bytes);
  EXPECT_EQ(plan->slots, 8u * 32) << "there is room for every expert, and no more are reserved";
}

TEST(Planner, TheSmallestBudgetIsExactAndTheOneNamedWorks) {
  Fixture fixture;
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
}

TEST(Planner, OverridesAreKeptOrRefusedWithBothNumbers) {
  Fixture fixture;
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

TEST(Planner, PinsAreWholeLayersFromTheFirstOn) {
  Fixture fixture;
  fixture.options.pin = "4";
  const auto four = *fixture.Plan();
  EXPECT_EQ(four.pinned_layers, 4u);
  EXPECT_EQ(four.pinned_extents, fixture.tiny.pass->FirstExtentOf(4));

  fixture.options.pin = std::to_string(four.pinned_bytes) + "B";
  EXPECT_EQ(fixture.Plan()->pinned_layers, 4u) << "as many as fit the size";
  fixture.options.pin = std::to_string(four.pinned_bytes - 1) + "B";
  EXPECT_EQ(fixture.Plan()->pinned_layers, 3u);

  fixture.options.pin = "1000";
  const auto all = *fixture.Plan();
  EXPECT_EQ(all.pinned_layers, fixture.tiny.shape().layers + 1) << "the head counts as the last";
  EXPECT_EQ(all.pinned_extents, fixture.tiny.pass->extents().size());
}

TEST(Planner, AnImageOfTheFilesIsCharged) {
  Fixture fixture;
  const uint64_t before = fixture.Plan()->fixed_bytes;
  fixture.needs.image_bytes = 5 * kMiB;
  EXPECT_EQ(fixture.Plan()->fixed_bytes, before + 5 * kMiB);
}

}  // namespace
}  // namespace penstock::k3
