#include "models/k3/bench/positions/experts_read.h"

#include <gtest/gtest.h>

namespace penstock::k3 {
namespace {

// Two positions, two layers: {1, 2, 3} in one, {1, 4} in the other.
const std::vector<Route> kRoutes = {
    {0, 0, 1, {1, 2}, {}}, {0, 0, 2, {4, 1}, {}}, {0, 1, 1, {2, 3}, {}}, {0, 1, 2, {1, 4}, {}}};

TEST(ExpertsRead, AnExpertCountsOnceInALayer) {
  EXPECT_EQ(UniqueExperts(kRoutes), 5u);
  EXPECT_EQ(UniqueExperts({}), 0u);
}

TEST(ExpertsRead, AreTheChosenOnesThatWereNotInTheCache) {
  ChunkFigures sum;
  sum.one_expert = 100;
  StepStats step;
  step.expert_hits = 2;
  step.expert_bytes = 1000;
  step.predicted_wasted_bytes = 700;  // By the step before.
  ASSERT_TRUE(AddChunk(kRoutes, step, sum).has_value());
  step.expert_hits = 0;
  step.expert_bytes = 500;
  step.predicted_wasted_bytes = 0;
  ASSERT_TRUE(AddChunk(kRoutes, step, sum).has_value());
  EXPECT_EQ(sum.chunks, 2u);
  EXPECT_EQ(sum.unique_experts, 10u);
  EXPECT_EQ(sum.found, 2u);
  EXPECT_EQ(sum.expert_bytes, 800u);
}

TEST(ExpertsRead, OneMoreOrLessIsUnsound) {
  for (const uint64_t bytes : {400, 600, 499}) {
    ChunkFigures sum;
    sum.one_expert = 100;
    StepStats step;
    step.expert_bytes = bytes;
    const Status added = AddChunk(kRoutes, step, sum);
    ASSERT_FALSE(added.has_value()) << bytes;
    EXPECT_EQ(added.error().code, ErrorCode::kUnsound);
    EXPECT_EQ(sum.chunks, 0u);
  }
}

}  // namespace
}  // namespace penstock::k3
