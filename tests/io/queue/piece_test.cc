#include "io/queue/piece.h"

#include <algorithm>
#include <cerrno>
#include <random>

#include <gtest/gtest.h>

namespace penstock::io {
namespace {

using State = Piece::State;

TEST(SplitExtent, RoundsOutAndCutsIntoBlocks) {
  const Split split = SplitExtent({0, 5000, 20'000}, 4096, 8192);
  EXPECT_EQ(split.begin, 4096u);
  EXPECT_EQ(split.end, 28'672u);
  EXPECT_EQ(split.wanted_end, 25'000u);
  EXPECT_EQ(split.PieceCount(), 3u);
  const Piece last(split, 2, 4096);
  EXPECT_EQ(last.offset(), 20'480u);
  EXPECT_EQ(last.bytes(), 8192u);
  EXPECT_EQ(last.wanted_end(), 25'000u);
}

TEST(SplitExtent, PiecesAreAsFewAsPossibleAndOfAboutOneSize) {
  const Split split = SplitExtent({0, 0, 5 << 20}, 4096, 4 << 20);
  EXPECT_EQ(split.PieceCount(), 2u);
  EXPECT_EQ(split.piece_bytes, (5u << 20) / 2);
  EXPECT_EQ(SplitExtent({0, 0, 8 << 20}, 4096, 4 << 20).piece_bytes, 4u << 20);
  EXPECT_EQ(SplitExtent({0, 0, (8 << 20) + 1}, 4096, 4 << 20).PieceCount(), 3u);
  EXPECT_EQ(SplitExtent({0, 0, 3 * 4096}, 4096, 2 * 4096).piece_bytes, 2u * 4096);
}

TEST(SplitExtent, AnEmptyExtentIsOneEmptyPiece) {
  const Split split = SplitExtent({0, 5000, 0}, 4096, 8192);
  EXPECT_EQ(split.PieceCount(), 1u);
  Piece piece(split, 0, 4096);
  EXPECT_EQ(piece.bytes(), 0u);
  EXPECT_EQ(piece.Advance(0), State::kDone);
}

TEST(SplitExtent, ABlockSmallerThanTheAlignmentIsOneBlockOfIt) {
  EXPECT_EQ(SplitExtent({0, 0, 100'000}, 65'536, 4096).piece_bytes, 65'536u);
  EXPECT_EQ(SplitExtent({0, 0, 100'000}, 4096, 10'000).piece_bytes, 8192u);
}

TEST(SplitExtent, NoPieceReachesTwoGigabytes) {
  const uint64_t gib = uint64_t{1} << 30;
  const Split split = SplitExtent({0, 10 * gib + 7, 5 * gib}, 512, 64 * gib);
  EXPECT_LE(split.piece_bytes, 2 * gib - 4096);
  EXPECT_EQ(split.PieceCount(), 3u);
  EXPECT_EQ(Piece(split, 2, 512).end(), split.end);
}

TEST(SplitExtent, RandomSplitsTileTheRoundedExtent) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 2000; ++i) {
    const uint64_t alignment = uint64_t{512} << random() % 5;
    const Extent extent{0, random() % (uint64_t{1} << 40), 1 + random() % 3'000'000};
    const uint64_t block = 4096 * (1 + random() % 64);
    const Split split = SplitExtent(extent, alignment, block);
    const uint64_t most = std::max(block / alignment * alignment, alignment);
    ASSERT_LE(split.piece_bytes, most);
    ASSERT_LE(split.PieceCount() - 1, (split.end - split.begin) / most);
    uint64_t at = split.begin;
    ASSERT_LE(split.begin, extent.offset);
    ASSERT_LT(extent.offset - split.begin, alignment);
    for (uint64_t p = 0; p < split.PieceCount(); ++p) {
      const Piece piece(split, p, alignment);
      ASSERT_EQ(piece.offset(), at);
      ASSERT_EQ(piece.bytes() % alignment, 0u);
      at += piece.bytes();
    }
    ASSERT_EQ(at, split.end);
    ASSERT_GE(split.end, extent.offset + extent.bytes);
    ASSERT_LT(split.end - (extent.offset + extent.bytes), alignment);
  }
}

class OnePiece : public ::testing::Test {
 protected:
  // Blocks of 4096 from 4096 to 20480; wanted up to 18000.
  Piece piece_{SplitExtent({0, 4096, 13'904}, 4096, 1 << 20), 0, 4096};
};

TEST_F(OnePiece, IsDoneWhenThePayloadIsCovered) {
  EXPECT_EQ(piece_.Advance(13'904), State::kDone);  // The file ends inside the last block.
}

TEST_F(OnePiece, ContinuesAShortReadFromAnAlignedOffset) {
  EXPECT_EQ(piece_.Advance(5000), State::kContinue);
  EXPECT_EQ(piece_.filled_to(), 9096u);
  EXPECT_EQ(piece_.offset(), 8192u);
  EXPECT_EQ(piece_.bytes(), 12'288u);
  EXPECT_EQ(piece_.Advance(12'288), State::kDone);
}

TEST_F(OnePiece, EndsAfterTwoReadsWithoutProgress) {
  EXPECT_EQ(piece_.Advance(5000), State::kContinue);
  EXPECT_EQ(piece_.Advance(904), State::kContinue);  // The same bytes once more.
  EXPECT_EQ(piece_.Advance(904), State::kEnded);
  EXPECT_EQ(piece_.filled_to(), 9096u);
}

TEST_F(OnePiece, ProgressForgivesAStall) {
  EXPECT_EQ(piece_.Advance(0), State::kContinue);
  EXPECT_EQ(piece_.Advance(4096), State::kContinue);
  EXPECT_EQ(piece_.Advance(0), State::kContinue);
  EXPECT_EQ(piece_.Advance(0), State::kEnded);
}

TEST_F(OnePiece, RepeatsWhatTheKernelPutOffButNotForEver) {
  EXPECT_EQ(piece_.Advance(-EINTR), State::kContinue);
  EXPECT_EQ(piece_.Advance(-EAGAIN), State::kWait);
  EXPECT_EQ(piece_.retries(), 2);
  EXPECT_EQ(piece_.Advance(4096), State::kContinue);
  EXPECT_EQ(piece_.retries(), 0);
  int waits = 0;
  State state = State::kWait;
  while ((state = piece_.Advance(-EAGAIN)) == State::kWait) ASSERT_LT(++waits, 100);
  EXPECT_EQ(state, State::kFailed);
  EXPECT_EQ(piece_.error(), EAGAIN);
}

TEST_F(OnePiece, FailsOnAnErrorOfTheDevice) {
  EXPECT_EQ(piece_.Advance(-EIO), State::kFailed);
  EXPECT_EQ(piece_.error(), EIO);
}

TEST_F(OnePiece, NeverBelievesMoreThanItAskedFor) {
  EXPECT_EQ(piece_.Advance(int64_t{1} << 40), State::kDone);
  EXPECT_EQ(piece_.filled_to(), 20'480u);
}

}  // namespace
}  // namespace penstock::io
