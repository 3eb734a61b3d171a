#include "io/cache/block_cache.h"

#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace penstock::io {
namespace {

// Fills the block of `key` with a byte made from it.
void Fill(BlockCache& cache, BlockCache::Key key) {
  auto reserved = cache.Reserve(key);
  ASSERT_TRUE(reserved);
  std::memset(reserved->block.data(), static_cast<int>(key & 0xff), reserved->block.size());
  cache.Publish(key, reserved->slot);
}

TEST(BlockCache, EvictsTheLeastRecentlyUsed) {
  std::vector<std::byte> memory(3 * 64);
  BlockCache cache(memory.data(), 64, 3);
  for (const BlockCache::Key key : {1, 2, 3}) Fill(cache, key);
  EXPECT_TRUE(cache.Find(1));  // Now 2 is the oldest.
  Fill(cache, 4);
  EXPECT_FALSE(cache.Find(2));
  EXPECT_TRUE(cache.Find(1));
  EXPECT_TRUE(cache.Find(3));
  EXPECT_TRUE(cache.Find(4));
}

TEST(BlockCache, AHeldBlockIsNeverReused) {
  std::vector<std::byte> memory(2 * 64);
  BlockCache cache(memory.data(), 64, 2);
  Fill(cache, 1);
  Fill(cache, 2);
  auto held = cache.Find(1);
  ASSERT_TRUE(held);
  Fill(cache, 3);
  Fill(cache, 4);  // Both times the other slot.
  EXPECT_EQ(static_cast<unsigned char>(held->block.data()[0]), 1);
  auto other = cache.Find(4);
  EXPECT_FALSE(cache.Reserve(5)) << "every slot is held";
  held.reset();
  EXPECT_TRUE(cache.Reserve(5));
}

TEST(BlockCache, WhatIsBeingFilledIsNotFound) {
  std::vector<std::byte> memory(64);
  BlockCache cache(memory.data(), 64, 1);
  auto reserved = cache.Reserve(7);
  ASSERT_TRUE(reserved);
  EXPECT_FALSE(cache.Find(7));
  cache.Discard(7, reserved->slot);
  EXPECT_FALSE(cache.Find(7));
  EXPECT_FALSE(cache.Reserve(8)) << "the reference is still held";
  reserved.reset();
  EXPECT_TRUE(cache.Reserve(8));
}

TEST(BlockCache, TellsOfEachRelease) {
  std::vector<std::byte> memory(2 * 64);
  BlockCache cache(memory.data(), 64, 2);
  int releases = 0;
  cache.OnRelease([&] { ++releases; });
  Fill(cache, 1);
  EXPECT_EQ(releases, 1);
  auto first = cache.Find(1);
  auto second = cache.Find(1);
  first.reset();
  EXPECT_EQ(releases, 2) << "one for each hold, also where another one goes on";
  BufferRef copy = second->block;
  second.reset();
  EXPECT_EQ(releases, 2) << "a copy is the same hold";
  copy.reset();
  EXPECT_EQ(releases, 3);
  EXPECT_EQ(cache.held(), 0u);
}

TEST(BlockCache, RandomTrafficNeverMixesBlocksUp) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  std::vector<std::byte> memory(5 * 64);
  BlockCache cache(memory.data(), 64, 5);
  std::vector<BlockCache::Held> held;
  std::vector<BlockCache::Key> keys;
  for (int i = 0; i < 20000; ++i) {
    const BlockCache::Key key = random() % 12;
    if (held.size() == 4 || random() % 3 == 0) {
      if (held.empty()) continue;
      held.pop_back();
      keys.pop_back();
      continue;
    }
    auto found = cache.Find(key);
    if (!found) {
      Fill(cache, key);
      found = cache.Find(key);
    }
    ASSERT_TRUE(found);
    held.push_back(std::move(*found));
    keys.push_back(key);
    for (size_t k = 0; k < held.size(); ++k) {
      ASSERT_EQ(static_cast<unsigned char>(held[k].block.data()[63]), keys[k]);
    }
  }
}

}  // namespace
}  // namespace penstock::io
