#include "models/k3/state/state.h"

#include <algorithm>
#include <limits>
#include <thread>

#include <gtest/gtest.h>

#include "ops/attention.h"
#include "tests/models/k3/plan/released.h"
#include "tests/models/k3/state/small_state.h"

namespace penstock::k3 {
namespace {

// A step whose heads do nothing but advance their bases.
Result<std::vector<std::shared_ptr<const SequenceState>>> TakeStep(
    StateStore& store, const std::shared_ptr<const SequenceState>& before, size_t positions) {
  const SmallTaps taps;
  std::vector<float> scratch(3 * store.kda_layout().width);
  const auto log = store.Begin(*before, positions);
  for (size_t layer = 0; layer < store.kda_layers(); ++layer) {
    PENSTOCK_TRY(const KdaVisit visit, store.BeginKda(*before, *log, layer));
    for (size_t head = 0; head < store.kda_layout().heads; ++head) {
      AdvanceBase(*before, visit, layer, head, ops::ScalarKernels(), taps.first_head(),
                  scratch.data());
    }
    store.EndKda(*before, *log, layer, visit);
  }
  for (size_t layer = 0; layer < store.mla_layers(); ++layer) {
    PENSTOCK_TRY_VOID(store.AppendRows(*log, layer));
  }
  return StateStore::Versions(log);
}

TEST(State, EmptyIsZeroAndHasNoPages) {
  auto store = *StateStore::Create(SmallShape(), 100);
  const auto empty = store->Empty();
  EXPECT_EQ(empty->position(), 0u);
  ASSERT_EQ(empty->log->bases.size(), 2u);
  EXPECT_EQ(empty->log->bases[1], nullptr);
  ASSERT_EQ(empty->log->pages.size(), 1u);
  EXPECT_TRUE(empty->log->pages[0].empty());
}

TEST(State, OneSequenceTakesOneBaseALayerAndGoesOnInPlace) {
  auto store = *StateStore::Create(SmallShape(), 100, 3);
  const size_t bases = store->free_bases();
  auto version = store->Empty();
  for (int step = 0; step < 10; ++step) {
    auto after = TakeStep(*store, version, 3);
    ASSERT_TRUE(after.has_value()) << after.error().message;
    version = (*after)[step % 3];
    EXPECT_EQ(store->free_bases(), bases - (step == 0 ? 0 : 2));
  }
}

TEST(State, AVersionThatIsHeldMakesTheNextStepCopy) {
  auto store = *StateStore::Create(SmallShape(), 100, 2);
  auto saved = TakeStep(*store, store->Empty(), 1)->back();
  auto version = TakeStep(*store, saved, 1)->back();
  const size_t bases = store->free_bases();
  const KdaBase* const base = saved->log->bases[0].get();
  auto after = TakeStep(*store, version, 1);
  ASSERT_TRUE(after.has_value()) << after.error().message;
  EXPECT_EQ(store->free_bases(), bases - 2);
  EXPECT_EQ(saved->log->bases[0].get(), base);
  EXPECT_TRUE(saved->log->bases[0]->IsAt(1));
  EXPECT_NE(after->back()->log->bases[0].get(), base);
  EXPECT_EQ(version->log->bases[0], after->back()->log->bases[0]) << "it moves along";
}

TEST(State, RollingBackGivesEntriesAndPagesBack) {
  auto store = *StateStore::Create(SmallShape(), 2 * ops::kPagePositions, 8);
  auto version = store->Empty();
  while (version->position() < ops::kPagePositions - 4) {
    version = TakeStep(*store, version, 4)->back();
  }
  const size_t pages = store->free_pages();
  auto after = *TakeStep(*store, version, 8);
  EXPECT_EQ(store->free_pages(), pages - 1);
  const size_t entries = store->free_entries();
  version = after[2];
  after.clear();
  EXPECT_EQ(store->free_entries(), entries + 2 * 5);
  EXPECT_EQ(store->free_pages(), pages);
  const auto page = version->log->pages[0][0];
  EXPECT_EQ(page->filled, ops::kPagePositions - 1);
}

TEST(State, AfterRollingBackThePageIsExtendedInPlace) {
  auto store = *StateStore::Create(SmallShape(), 100, 8);
  auto version = TakeStep(*store, store->Empty(), 8)->at(2);
  const LatentPage* const page = version->log->pages[0][0].get();
  auto next = TakeStep(*store, version, 1)->back();
  EXPECT_EQ(next->log->pages[0][0].get(), page);
  EXPECT_EQ(page->filled, 4u);
}

// Rows behind a version are masked, not skipped: what a wrong guess left there must be gone.
TEST(State, RowsOfADroppedVersionAreZeroAgain) {
  auto store = *StateStore::Create(SmallShape(), 100, 3);
  auto after = *TakeStep(*store, store->Empty(), 3);
  float* const row = store->Row(*after[0]->log, 0, 1);
  std::fill_n(row, 2 * store->page_width(), std::numeric_limits<float>::quiet_NaN());
  after.resize(1);
  EXPECT_EQ(std::count(row, row + 2 * store->page_width(), 0.0f),
            static_cast<ptrdiff_t>(2 * store->page_width()));
}

TEST(State, TwoVersionsNeverAppendToTheSamePage) {
  auto store = *StateStore::Create(SmallShape(), 128, 3);
  const auto trunk = TakeStep(*store, store->Empty(), 3)->back();
  const float* const rows = trunk->log->pages[0][0]->rows();
  const auto left = TakeStep(*store, trunk, 2)->back();
  const auto right = TakeStep(*store, trunk, 1)->back();
  EXPECT_EQ(left->log->pages[0][0]->rows(), rows) << "the first to go on extends the page";
  EXPECT_NE(right->log->pages[0][0]->rows(), rows) << "the second copies it";
}

TEST(State, MemoryRunsOutWithASentenceAndNothingIsLost) {
  auto store = *StateStore::Create(SmallShape(), 1000, 2);
  std::vector<std::shared_ptr<const SequenceState>> held{store->Empty()};
  Status status;
  while (status) {
    auto after = TakeStep(*store, held.back(), 1);
    if (after) {
      held.push_back(after->back());
    } else {
      status = after.error();
    }
    ASSERT_LT(held.size(), 20u);
  }
  EXPECT_EQ(status.error().code, ErrorCode::kFailed);
  EXPECT_GE(held.size(), 4u);
  held.erase(held.begin(), held.end() - 1);
  EXPECT_TRUE(TakeStep(*store, held.back(), 2).has_value());
}

// Of the log that is being continued, too: there may be no room for a long step then, but for one of
// a single position there always is.
TEST(State, BesideAVersionThatWaitsAStepOfOnePositionAlwaysFits) {
  for (const size_t positions : {1, 2, 3, 5, 9}) {
    for (size_t waiting = 0; waiting < positions; ++waiting) {
      auto store = *StateStore::Create(SmallShape(), 1000, positions);
      auto after = *TakeStep(*store, TakeStep(*store, store->Empty(), 1)->back(), positions);
      const auto waits = after[waiting];
      auto version = after.back();
      after.clear();
      for (int step = 0; step < 8; ++step) {
        auto next = TakeStep(*store, version, positions);
        if (!next) next = TakeStep(*store, version, 1);
        ASSERT_TRUE(next.has_value()) << positions << ", " << waiting << ", step " << step;
        version = next->back();
      }
    }
  }
}

TEST(State, ASequenceIsContinuedBesideAVersionOfAnother) {
  auto store = *StateStore::Create(SmallShape(), 1000);
  const auto waits = TakeStep(*store, TakeStep(*store, store->Empty(), 1)->back(), 1)->back();
  auto version = store->Empty();
  for (int step = 0; step < 5; ++step) {
    auto after = TakeStep(*store, version, 1);
    ASSERT_TRUE(after.has_value()) << "step " << step << ": " << after.error().message;
    version = after->back();
  }
}

TEST(State, AVersionOutlivesItsStore) {
  auto store = *StateStore::Create(SmallShape(), 10);
  auto version = TakeStep(*store, store->Empty(), 1)->back();
  store.reset();
  EXPECT_EQ(version->position(), 1u);
  EXPECT_EQ(version->log->pages[0].size(), 1u);
}

TEST(State, VersionsMayBeDroppedOnOtherThreads) {
  auto store = *StateStore::Create(SmallShape(), 1000, 8);
  const size_t entries = store->free_entries();
  auto version = store->Empty();
  for (int step = 0; step < 50; ++step) {
    auto after = *TakeStep(*store, version, 8);
    version = after[step % 8];
    std::thread left([rest = std::move(after)]() mutable { rest.clear(); });
    if (step % 2 == 0) left.join();
    EXPECT_TRUE(version->log->entry(0, 0).data() != nullptr);
    if (left.joinable()) left.join();
  }
  version.reset();
  EXPECT_EQ(store->free_entries(), entries);
}

TEST(State, APositionOfTheReleaseTakesThirteenMebibytesOfTheLog) {
  const Shape shape = ReleasedShape();
  const size_t more = StateStore::Bytes(shape, 4096, 8) - StateStore::Bytes(shape, 4096, 1);
  EXPECT_NEAR(static_cast<double>(more), 7.0 * 69 * (4 * 12288 + 96) * sizeof(float), 4096);
}

}  // namespace
}  // namespace penstock::k3
