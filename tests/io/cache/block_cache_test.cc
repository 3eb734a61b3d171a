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

TEST(BlockCache, WhatIsBroughtAheadIsAHoldThatNobodyIsToldOf) {
  std::vector<std::byte> memory(2 * 64);
  BlockCache cache(memory.data(), 64, 2);
  int releases = 0;
  cache.OnRelease([&] { ++releases; });
  auto ahead = cache.Reserve(1, BlockCache::Reason::kAhead);
  ASSERT_TRUE(ahead);
  EXPECT_FALSE(cache.Contains(1));
  cache.Publish(1, ahead->slot);
  EXPECT_TRUE(cache.Contains(1));
  auto held = cache.Find(1);
  ASSERT_TRUE(held);
  EXPECT_EQ(cache.held(), 1u);
  ahead.reset();
  EXPECT_EQ(releases, 0);
  EXPECT_EQ(cache.held(), 1u) << "whoever found it goes on holding it";
  held.reset();
  EXPECT_EQ(releases, 1);
  EXPECT_EQ(cache.held(), 0u);
  EXPECT_TRUE(cache.Find(1));
}

TEST(BlockCache, ThePolicyChoosesAndHearsOfEveryBlock) {
  // Evicts the highest slot that is idle, and keeps books.
  struct Highest final : EvictionPolicy {
    void Hit(BlockKey, BlockSlot) override { ++hits; }
    void Miss(BlockKey) override { ++misses; }
    void Insert(BlockKey, BlockSlot) override { ++inserted; }
    void Remove(BlockKey key, BlockSlot) override { removed.push_back(key); }
    BlockSlot Victim(const Idle& idle) override {
      for (size_t slot = idle.size(); slot-- > 0;) {
        if (idle[slot] != 0) return static_cast<BlockSlot>(slot);
      }
      return 0;
    }
    const char* name() const override { return "highest"; }
    int hits = 0, misses = 0, inserted = 0;
    std::vector<BlockKey> removed;
  };
  auto owned = std::make_unique<Highest>();
  Highest& policy = *owned;
  std::vector<std::byte> memory(3 * 64);
  BlockCache cache(memory.data(), 64, 3, std::move(owned));
  for (const BlockCache::Key key : {1, 2, 3}) Fill(cache, key);
  Fill(cache, 4);
  EXPECT_EQ(policy.removed, std::vector<BlockKey>{3});
  EXPECT_TRUE(cache.Find(1));
  auto ahead = cache.Reserve(5, BlockCache::Reason::kAhead);
  ASSERT_TRUE(ahead);
  cache.Discard(5, ahead->slot);
  ahead.reset();
  EXPECT_EQ(policy.removed, (std::vector<BlockKey>{3, 4, 5}));
  EXPECT_EQ(policy.hits, 1);
  EXPECT_EQ(policy.misses, 4) << "what was brought ahead has not been asked for";
  EXPECT_EQ(policy.inserted, 5);
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
