#include "models/k3/bench/codec/packed.h"

#include <cstring>

#include <gtest/gtest.h>
#include <xxhash.h>

#include "models/k3/bench/codec/generated.h"

namespace penstock::k3 {
namespace {

constexpr size_t kPackedChunk = 1000;

// Two stripes, of 2.5 and of 1.001 chunks.
Weights TwoStripes() {
  Weights weights = std::move(*GenerateWeights(1, 2 * 3501, 1, [](uint64_t) { return true; }));
  const std::span<const std::byte> all(weights.memory.data(), weights.bytes);
  weights.stripes = {all.first(5000), all.subspan(5000)};
  return weights;
}

TEST(Packed, ChunksTileTheStripesAndLieAtLines) {
  const Weights weights = TwoStripes();
  const auto coder = MakeCoder(ops::Codec::kRaw);
  Packed packed;
  ASSERT_TRUE(Pack(weights, 2, kPackedChunk, *coder, packed));
  ASSERT_EQ(packed.chunks.size(), 5u);
  EXPECT_EQ(packed.codes.size(), 2u);
  const size_t sizes[] = {2000, 2000, 1000, 2000, 2};
  const uint32_t stripes[] = {0, 0, 0, 1, 1};
  const std::byte* at = weights.memory.data();
  const std::byte* next = packed.memory.data();
  for (size_t i = 0; i < 5; ++i) {
    const PackedChunk& chunk = packed.chunks[i];
    EXPECT_EQ(chunk.weights.data(), at);
    EXPECT_EQ(chunk.weights.size(), sizes[i]);
    EXPECT_EQ(chunk.stripe, stripes[i]);
    EXPECT_EQ(chunk.stored.data(), next);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(chunk.stored.data()) % 64, 0u);
    ASSERT_EQ(chunk.stored.size(), sizes[i]);
    EXPECT_EQ(std::memcmp(chunk.stored.data(), at, sizes[i]), 0);
    EXPECT_EQ(chunk.sum, XXH3_64bits(at, sizes[i]));
    at += sizes[i];
    next += (sizes[i] + 63) / 64 * 64;
  }
  EXPECT_EQ(packed.weight_bytes, weights.bytes);
  EXPECT_EQ(packed.stored_bytes, static_cast<size_t>(next - packed.memory.data()));
  EXPECT_GE(packed.memory.size(),
            static_cast<size_t>(packed.chunks[4].stored.data() + 2 - packed.memory.data()) +
                ops::kCodecSlack);
}

TEST(Packed, PacksAPartAndAgainInTheSameMemory) {
  const Weights weights = TwoStripes();
  const auto coder = MakeZstdCoder();
  Packed packed;
  ASSERT_TRUE(Pack(weights, 1, kPackedChunk, *coder, packed));
  const std::byte* const memory = packed.memory.data();
  const size_t stored = packed.stored_bytes;
  const uint64_t sum = packed.chunks[2].sum;
  EXPECT_EQ(packed.weight_bytes, 5000u);
  EXPECT_LT(packed.ratio(), 1);
  ASSERT_TRUE(Pack(weights, 1, kPackedChunk, *coder, packed));
  EXPECT_EQ(packed.memory.data(), memory);
  EXPECT_EQ(packed.stored_bytes, stored);
  ASSERT_EQ(packed.chunks.size(), 3u);
  EXPECT_EQ(packed.chunks[2].sum, sum);
}

TEST(Packed, EachStripeHasItsCodeWhichCounts) {
  const Weights weights = TwoStripes();
  const auto coder = MakeCoder(ops::Codec::kHuffman);
  Packed packed;
  ASSERT_TRUE(Pack(weights, 2, kPackedChunk, *coder, packed));
  ASSERT_EQ(packed.codes.size(), 2u);
  size_t bytes = packed.codes[0].size() + packed.codes[1].size();
  EXPECT_GT(bytes, 0u);
  for (const PackedChunk& chunk : packed.chunks) bytes += (chunk.stored.size() + 63) / 64 * 64;
  EXPECT_EQ(packed.stored_bytes, bytes);
}

}  // namespace
}  // namespace penstock::k3
