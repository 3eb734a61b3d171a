// How many positions a step takes: what the planner gives where nobody asks for a number.
#include <gtest/gtest.h>

#include "models/k3/layers/activations.h"
#include "models/k3/plan/planner.h"
#include "models/k3/state/state.h"
#include "tests/models/k3/tiny_model.h"

namespace penstock::k3 {
namespace {

constexpr size_t kPlannedContext = 1000;
constexpr uint64_t kRowBytes = 8192;

struct PositionsFixture {
  PositionsFixture()
      : files(*io::FileSet::Open(tiny.catalogue->files(), io::DirectMode::kNever, nullptr)),
        weights(MeasureWeights(*tiny.catalogue, tiny.shape(), *tiny.pass, files)) {
    needs.process_bytes = 20 * kMiB;
    needs.context = kPlannedContext;
    needs.positions = 8;
    needs.prompt_positions = kPlannedContext;
    needs.embed_row_bytes = kRowBytes;
    needs.budget_bytes = 1024 * kMiB;
    needs.budget_from = "--memory";
    options.pin = "0";
  }
  MemoryPlan Plan() const {
    Result<MemoryPlan> plan = PlanMemory(needs, options, weights, tiny.shape());
    EXPECT_TRUE(plan.has_value()) << plan.error().message;
    return plan ? *plan : MemoryPlan();
  }
  uint64_t StepBytes(size_t positions, size_t read) const {
    return Activations::Bytes(tiny.shape(), read, positions) + read * kRowBytes +
           StateStore::Bytes(tiny.shape(), kPlannedContext, positions, read);
  }
  TinyModel tiny;
  io::FileSet files;
  WeightBytes weights;
  MemoryNeeds needs;
  PipelineOptions options;
};

TEST(ReadPositions, AreThePromptsWhereThereIsMemoryForThem) {
  PositionsFixture fixture;
  fixture.needs.prompt_positions = 40;
  const MemoryPlan forty = fixture.Plan();
  EXPECT_EQ(forty.read_positions, 40u);
  EXPECT_EQ(forty.positions, 8u);
  fixture.needs.prompt_positions = 3;
  const MemoryPlan eight = fixture.Plan();
  EXPECT_EQ(eight.read_positions, 8u) << "a draft's step is there anyway";
  EXPECT_EQ(forty.fixed_bytes - eight.fixed_bytes,
            fixture.StepBytes(8, 40) - fixture.StepBytes(8, 8));
  fixture.needs.prompt_positions = kPlannedContext;
  EXPECT_EQ(fixture.Plan().read_positions, kMostReadPositions);
}

TEST(ReadPositions, TakeAShareOfTheBudget) {
  PositionsFixture fixture;
  fixture.needs.budget_bytes = 96 * kMiB;
  const uint64_t most = 96 * kMiB / kReadShare + fixture.StepBytes(8, 8);
  const size_t read = fixture.Plan().read_positions;
  EXPECT_GT(read, 8u);
  EXPECT_LT(read, kMostReadPositions);
  EXPECT_LE(fixture.StepBytes(8, read), most);
  EXPECT_GT(fixture.StepBytes(8, read + 1), most);
}

TEST(ReadPositions, LeaveRingAndExpertsOfALayerWhatTheyWant) {
  PositionsFixture fixture;
  const uint64_t overlap = fixture.Plan().overlap_bytes;
  fixture.needs.budget_bytes = overlap;
  const MemoryPlan none = fixture.Plan();
  EXPECT_EQ(none.read_positions, 8u);
  EXPECT_EQ(none.slots, fixture.tiny.shape().top_k);

  const uint64_t spare = fixture.StepBytes(8, 12) - fixture.StepBytes(8, 8);
  fixture.needs.budget_bytes = overlap + spare;
  const MemoryPlan some = fixture.Plan();
  EXPECT_EQ(some.read_positions, 12u);
  EXPECT_EQ(some.slots, none.slots);
  EXPECT_EQ(some.ring_bytes, none.ring_bytes);
  EXPECT_EQ(some.least_bytes, none.least_bytes) << "a chunk is no need";
}

TEST(ReadPositions, AreWhatIsAskedFor) {
  PositionsFixture fixture;
  fixture.needs.budget_bytes = 96 * kMiB;
  fixture.needs.read_positions = 300;
  EXPECT_EQ(fixture.Plan().read_positions, 300u);
  fixture.needs.read_positions = 2;
  EXPECT_EQ(fixture.Plan().read_positions, 8u);
  fixture.needs.read_positions = 0;
  fixture.options.preset = "least";
  EXPECT_EQ(fixture.Plan().read_positions, 8u);
}

TEST(StepPositions, AreFewerRatherThanNone) {
  PositionsFixture fixture;
  const uint64_t eight = fixture.Plan().least_bytes;
  fixture.needs.budget_bytes = eight - 1;
  EXPECT_FALSE(PlanMemory(fixture.needs, fixture.options, fixture.weights, fixture.tiny.shape())
                   .has_value());
  fixture.needs.fewer_positions = true;
  const MemoryPlan seven = fixture.Plan();
  EXPECT_EQ(seven.positions, 7u);
  EXPECT_EQ(seven.read_positions, 7u);
  EXPECT_EQ(eight - seven.least_bytes, fixture.StepBytes(8, 8) - fixture.StepBytes(1, 1));
  fixture.needs.budget_bytes = seven.least_bytes;
  EXPECT_EQ(fixture.Plan().positions, 1u);
  EXPECT_EQ(fixture.Plan().total_bytes(), seven.least_bytes);
}

}  // namespace
}  // namespace penstock::k3
