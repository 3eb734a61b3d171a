#include "runtime/memory/block_pool.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(BlockPool, GivesEachBlockOnceAndTakesItBack) {
  std::vector<std::byte> memory(4 * 128);
  BlockPool pool(memory.data(), 128, 4);
  std::set<std::byte*> seen;
  std::vector<MutableBuffer> blocks;
  for (int i = 0; i < 4; ++i) {
    auto block = pool.Allocate();
    ASSERT_TRUE(block);
    EXPECT_EQ(block->size(), 128u);
    EXPECT_TRUE(seen.insert(block->data()).second);
    blocks.push_back(std::move(*block));
  }
  EXPECT_FALSE(pool.Allocate());
  std::byte* last = blocks.back().data();
  blocks.pop_back();
  EXPECT_EQ(pool.free_blocks(), 1u);
  auto again = pool.Allocate();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->data(), last);
}

TEST(BlockPool, AFrozenBlockComesBackWithItsLastReference) {
  std::vector<std::byte> memory(128);
  BlockPool pool(memory.data(), 128, 1);
  auto block = pool.Allocate();
  BufferRef first = std::move(*block).Freeze();
  block.reset();
  BufferRef second = first;
  first.reset();
  EXPECT_EQ(pool.free_blocks(), 0u);
  second.reset();
  EXPECT_EQ(pool.free_blocks(), 1u);
}

}  // namespace
}  // namespace penstock
