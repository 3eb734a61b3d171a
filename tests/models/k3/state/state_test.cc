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
  ASSERT_EQ(empty->log->bases.size(), 2u);
  EXPECT_EQ(empty->log->bases[1], nullptr);
  ASSERT_EQ(empty->log->pages.size(), 1u);
  EXPECT_TRUE(empty->log->pages[0].empty());
}

}  // namespace
}  // namespace penstock::k3
