#include "models/k3/state/state.h"

#include <gtest/gtest.h>

#include "ops/attention.h"

namespace penstock::k3 {
namespace {

Shape SmallShape() {
  Shape shape;
  shape.layers = 3;
  shape.kda = {true, false, true};
  shape.kda_heads = 2;
  shape.kda_width = 4;
  shape.conv_taps = 4;
  shape.kv_rank = 5;
  shape.rope = 3;
  return shape;
}

TEST(State, EmptyIsZeroAndHasNoPages) {
  auto store = StateStore::Create(SmallShape(), 100);
  ASSERT_TRUE(store.has_value());
  const auto empty = (*store)->Empty();
  EXPECT_EQ(empty->position(), 0u);
  ASSERT_EQ(empty->kda.size(), 2u);
  ASSERT_EQ(empty->pages.size(), 1u);
  EXPECT_TRUE(empty->pages[0].empty());
  const auto* values = reinterpret_cast<const float*>(empty->kda[1].data());
  for (size_t i = 0; i < (*store)->kda_layout().bytes() / sizeof(float); ++i) {
    ASSERT_EQ(values[i], 0.0f);
  }
}

TEST(State, TwoVersionsNeverAppendToTheSamePage) {
  auto store = *StateStore::Create(SmallShape(), 128);
  std::vector<std::shared_ptr<LatentPage>> trunk;
  for (size_t position = 0; position < 3; ++position) {
    auto row = store->AppendRow(trunk, position);
    ASSERT_TRUE(row.has_value());
    (*row)[0] = static_cast<float>(position);
  }
  auto left = trunk;
  auto right = trunk;
  float* left_row = *store->AppendRow(left, 3);
  left_row[0] = 30;
  float* right_row = *store->AppendRow(right, 3);
  right_row[0] = 31;
  EXPECT_EQ(left[0], trunk[0]) << "the first to go on extends the page";
  EXPECT_NE(right[0], trunk[0]) << "the second copies it";
  const size_t width = store->page_width();
  EXPECT_EQ(left[0]->rows()[3 * width], 30);
  EXPECT_EQ(right[0]->rows()[3 * width], 31);
  for (size_t position = 0; position < 3; ++position) {
    EXPECT_EQ(right[0]->rows()[position * width], static_cast<float>(position));
  }
}

TEST(State, PagesBeginAtTheirBoundaryAndRunOutWithASentence) {
  auto store = *StateStore::Create(SmallShape(), 2 * ops::kPagePositions);
  std::vector<std::shared_ptr<LatentPage>> pages;
  for (size_t position = 0; position < 2 * ops::kPagePositions; ++position) {
    ASSERT_TRUE(store->AppendRow(pages, position).has_value());
  }
  EXPECT_EQ(pages.size(), 2u);
  ASSERT_TRUE(store->AppendRow(pages, 2 * ops::kPagePositions).has_value()) << "the spare page";
  const auto none = store->AppendRow(pages, 3 * ops::kPagePositions);
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, ErrorCode::kFailed);
}

TEST(State, KdaBlocksRunOutWithASentenceAndComeBack) {
  auto store = *StateStore::Create(SmallShape(), 1);
  std::vector<MutableBuffer> blocks;
  for (int i = 0; i < 4; ++i) {  // Two versions of two layers.
    auto block = store->NewKdaBlock();
    ASSERT_TRUE(block.has_value());
    blocks.push_back(std::move(*block));
  }
  EXPECT_FALSE(store->NewKdaBlock().has_value());
  blocks.pop_back();
  EXPECT_TRUE(store->NewKdaBlock().has_value());
}

TEST(State, AVersionOutlivesItsStore) {
  auto store = *StateStore::Create(SmallShape(), 10);
  auto version = store->Empty();
  store.reset();
  EXPECT_EQ(reinterpret_cast<const float*>(version->kda[0].data())[0], 0.0f);
}

}  // namespace
}  // namespace penstock::k3
