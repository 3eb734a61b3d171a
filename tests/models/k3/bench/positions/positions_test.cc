#include "models/k3/bench/positions/positions.h"

#include <atomic>

#include <gtest/gtest.h>

#include "tests/models/k3/tiny_model.h"

namespace penstock::k3 {
namespace {

PositionsBenchOptions SmallPositionsBench() {
  PositionsBenchOptions options;
  options.model = kTiny;
  options.repetitions = 1;
  options.tokens = 14;
  options.prompt = 50;
  return options;
}

PipelineOptions NothingKept() {
  PipelineOptions options;
  options.pin = "0";
  options.expert_cache.bytes = 32 << 10;  // One expert: every use of a step is a read.
  return options;
}

const PositionsRow& RowNamed(const PositionsResult& result, const std::string& arm) {
  for (const PositionsRow& row : result.rows) {
    if (row.arm == arm) return row;
  }
  ADD_FAILURE() << arm;
  return result.rows.front();
}

TEST(PositionsBench, DraftsOfARepeatedListAreAcceptedAndSaveBytes) {
  text::DraftOptions draft;
  draft.draft_max = 4;
  const auto result =
      BenchPositions(SmallPositionsBench(), draft, NothingKept(), FromMemory("2G"), {});
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->rows.size(), 6u);
  const PositionsRow& none = RowNamed(*result, "repeating, none");
  const PositionsRow& drafts = RowNamed(*result, "repeating, drafts");
  EXPECT_EQ(none.drafted, 0u);
  EXPECT_FALSE(none.ratio);
  EXPECT_GT(drafts.drafted, 6u);
  EXPECT_EQ(drafts.accepted, drafts.drafted) << "the list is what it was";
  EXPECT_LT(drafts.bytes, 0.6 * none.bytes);
  ASSERT_TRUE(drafts.ratio && drafts.bound && none.bound);
  EXPECT_GT(*drafts.bound, *none.bound);
  EXPECT_LE(*drafts.ratio_low, *drafts.ratio_high);
  EXPECT_EQ(RowNamed(*result, "random, none").drafted, 0u);
}

TEST(PositionsBench, AChunkReadsEachChosenExpertOnce) {
  PositionsBenchOptions options = SmallPositionsBench();
  options.texts = "random";
  options.prefill_chunk = 6;
  const auto result = BenchPositions(options, {}, NothingKept(), FromMemory("2G"), {});
  ASSERT_TRUE(result) << result.error().message;
  const ChunkFigures& chunks = result->chunks;
  EXPECT_EQ(chunks.positions, 6u);
  EXPECT_EQ(chunks.chunks, 9u);
  EXPECT_EQ(chunks.one_expert, kTinyExpertBytes);
  EXPECT_EQ(chunks.expert_bytes, (chunks.unique_experts - chunks.found) * kTinyExpertBytes);
  EXPECT_GT(chunks.unique_experts, 0u);
  const PositionsRow& prompt = RowNamed(*result, "prompt in chunks");
  EXPECT_EQ(prompt.wasted, 0u);
  EXPECT_LT(prompt.bytes, 0.6 * RowNamed(*result, "serial").bytes);
  ASSERT_TRUE(prompt.ratio);
  EXPECT_EQ(PositionsJson(*result)["rows"].size(), result->rows.size());
}

TEST(PositionsBench, EndsWhenItIsToldTo) {
  std::atomic<size_t> asked{0};
  const auto result =
      BenchPositions(SmallPositionsBench(), {}, NothingKept(), FromMemory(),
                     {.notice = {}, .progress = [&](const BenchProgress&) { return ++asked < 6; }});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kCancelled);
}

TEST(PositionsBench, AModelAndTextsAreNeeded) {
  PositionsBenchOptions options;
  EXPECT_EQ(BenchPositions(options, {}, {}, {}, {}).error().code, ErrorCode::kRefused);
  options.model = kTiny;
  options.texts = "prose";
  const auto result = BenchPositions(options, {}, NothingKept(), FromMemory(), {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kRefused);
}

}  // namespace
}  // namespace penstock::k3
