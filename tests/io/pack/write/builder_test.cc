#include "io/pack/write/builder.h"

#include <algorithm>

#include "tests/io/pack/small_pack.h"

namespace penstock::io {
namespace {

PackManifest ManifestOf(const EncodedStripe& stripe) {
  PackManifest manifest;
  manifest.tensors = {{"t", stripe.element, stripe.elements}};
  manifest.stripes = {{.codec = stripe.codec,
                       .elements = stripe.elements,
                       .raw_bytes = stripe.elements * ElementWidth(stripe.element),
                       .stored_bytes = stripe.stored.size(),
                       .stored_sum = stripe.stored_sum,
                       .raw_sum = stripe.raw_sum}};
  return manifest;
}

// A raw stripe, byte for byte as the format says, written down without the code under test.
TEST(StripeBuilder, LaysOutWhatTheFormatSays) {
  std::mt19937_64 random(1);
  const auto raw = RandomBytes(100, random);
  StripeBuilder builder;
  const EncodedStripe stripe = builder.BuildRaw(1, raw, 40);  // 50 elements: chunks of 80 and 20.
  std::string expected;
  const auto append = [&expected](uint64_t value, size_t bytes) {
    expected.append(reinterpret_cast<const char*>(&value), bytes);
  };
  const std::span all(raw);
  append(0x72747370, 4);
  append(0, 1);
  append(1, 1);
  append(0, 2);
  append(2, 4);
  append(40, 4);
  append(50, 8);
  append(0, 8);
  for (const auto& [at, bytes, position] :
       {std::array<uint64_t, 3>{0, 80, 2}, std::array<uint64_t, 3>{80, 20, 4}}) {
    append(bytes, 4);
    append(position, 4);
    append(SumOf(all.subspan(at, bytes)), 8);
    append(SumOf(all.subspan(at, bytes)), 8);
  }
  expected.resize(128, '\0');
  EXPECT_EQ(stripe.stored_sum, SumOf(std::as_bytes(std::span(expected))));
  const std::string text(reinterpret_cast<const char*>(raw.data()), raw.size());
  expected += text.substr(0, 80);
  expected.resize(256, '\0');
  expected += text.substr(80);
  expected.resize(320 + 64, '\0');
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(stripe.stored.data()), stripe.stored.size()),
            expected);
  EXPECT_EQ(stripe.raw_sum, SumOf(raw));
  EXPECT_EQ(stripe.elements, 50u);
}

TEST(StripeBuilder, WhatItBuildsIsReadBack) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  StripeBuilder builder;  // Kept: a small stripe after a large one finds its rests in the buffer.
  for (int round = 0; round < 300; ++round) {
    const auto element = static_cast<uint8_t>(1 + random() % (kElements - 1));
    const uint64_t elements = 1 + random() % 3000;
    const auto chunk_elements = static_cast<uint32_t>(1 + random() % 1000);
    const auto codec = static_cast<uint8_t>(1 + random() % 2);
    const auto code = RandomBytes(random() % 200, random);
    const auto raw = RandomBytes(elements * ElementWidth(element), random);
    std::vector<std::vector<std::byte>> chunks;
    uint64_t most = 0;
    builder.Begin(codec, element, raw, chunk_elements, code);
    while (!builder.done()) {
      chunks.push_back(RandomBytes(1 + random() % 300, random));
      most = std::max<uint64_t>(most, chunks.back().size());
      std::copy(chunks.back().begin(), chunks.back().end(), builder.Room(400).begin());
      builder.Commit(chunks.back().size());
    }
    const EncodedStripe stripe = builder.Finish();
    EXPECT_LE(stripe.stored.size(),
              StripeBuilder::MostBytes(elements, chunk_elements, code.size(), most));
    const PackManifest manifest = ManifestOf(stripe);
    const auto view = StripeView::Parse(stripe.stored, manifest, 0);
    ASSERT_TRUE(view) << view.error().message;
    EXPECT_EQ(view->codec(), codec);
    EXPECT_EQ(view->element(), element);
    EXPECT_EQ(view->elements(), elements);
    EXPECT_EQ(view->chunk_elements(), chunk_elements);
    EXPECT_TRUE(std::ranges::equal(view->code(), code));
    ASSERT_EQ(view->chunks(), chunks.size());
    uint64_t first = 0;
    for (size_t i = 0; i < chunks.size(); ++i) {
      const StripeChunk chunk = view->chunk(i);
      EXPECT_TRUE(std::ranges::equal(chunk.stored, chunks[i]));
      EXPECT_EQ(chunk.first, first);
      EXPECT_TRUE(view->CheckChunk(i));
      const size_t width = ElementWidth(element);
      const auto decoded = std::span(raw).subspan(first * width, chunk.elements * width);
      EXPECT_TRUE(view->CheckRaw(i, decoded));
      EXPECT_FALSE(view->CheckRaw(i, std::span(raw).first(0)));
      first += chunk.elements;
    }
    EXPECT_EQ(first, elements);
  }
}

}  // namespace
}  // namespace penstock::io
