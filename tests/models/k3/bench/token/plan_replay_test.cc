#include "models/k3/bench/token/plan_replay.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "models/k3/experts/expert_reads.h"
#include "tests/models/k3/tiny_model.h"

namespace penstock::k3 {
namespace {

// Payload that a new reader has brought when so many steps were replayed.
uint64_t BytesOf(size_t steps, const ReplayPlan& plan, uint64_t* step_bytes = nullptr) {
  TinyModel model;
  {
    const auto replay =
        *PlanReplay::Create(*model.pass, *model.catalogue, model.shape(), *model.reader, plan);
    EXPECT_TRUE(replay->Run(steps));
    if (step_bytes != nullptr) *step_bytes = replay->step_bytes();
  }
  return model.reader->counters().payload_bytes;
}

TEST(PlanReplay, EveryStepReadsThePassAndTheExpertsOfEachLayer) {
  TinyModel model;
  uint64_t trunk = 0;
  for (const PassExtent& extent : model.pass->extents()) trunk += extent.extent.bytes;
  uint64_t expert = 0;
  for (const io::Extent& read : ReadsOf(model.catalogue->expert(1, 0))) expert += read.bytes;
  for (const uint64_t ring : {model.LargestExtent(), uint64_t{1} << 20, uint64_t{64} << 20}) {
    for (const uint64_t experts : {0, 1, 3}) {
      const ReplayPlan plan{.pinned = {}, .ring_bytes = ring, .experts_per_layer = experts};
      uint64_t step = 0;
      const uint64_t one = BytesOf(1, plan, &step);
      EXPECT_EQ(step, trunk + (model.shape().layers - 1) * experts * expert);
      // What was read ahead of the end is the same in both.
      EXPECT_EQ(BytesOf(3, plan) - one, 2 * step) << ring << " " << experts;
    }
  }
}

TEST(PlanReplay, PinnedExtentsAreNotRead) {
  TinyModel model;
  const auto all = static_cast<uint32_t>(model.pass->extents().size());
  std::vector<uint32_t> every(all);
  std::iota(every.begin(), every.end(), 0);
  EXPECT_EQ(BytesOf(2, {.pinned = every, .ring_bytes = 1 << 20, .experts_per_layer = 0}), 0u);
  std::vector<uint32_t> some;
  uint64_t rest = 0;
  for (uint32_t i = 0; i < all; ++i) {
    if (i % 3 == 1) {
      some.push_back(i);
    } else {
      rest += model.pass->extents()[i].extent.bytes;
    }
  }
  uint64_t step = 0;
  BytesOf(1, {.pinned = some, .ring_bytes = 1 << 20, .experts_per_layer = 0}, &step);
  EXPECT_EQ(step, rest);
}

TEST(FaultPlanReplay, AReadThatFailsEndsIt) {
  TinyModel model(16 << 10, "eio@layer=3");
  const auto replay =
      *PlanReplay::Create(*model.pass, *model.catalogue, model.shape(), *model.reader,
                          {.pinned = {}, .ring_bytes = 1 << 20, .experts_per_layer = 0});
  EXPECT_FALSE(replay->Run(2));
}

}  // namespace
}  // namespace penstock::k3
