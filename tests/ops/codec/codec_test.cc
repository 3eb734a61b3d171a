#include "ops/codec/codec.h"

#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "ops/codec/choose.h"

namespace penstock::ops {
namespace {

constexpr Element kElements[] = {Element::kBf16, Element::kF16, Element::kF8E4M3, Element::kF8E5M2,
                                 Element::kF32};

std::vector<CodecKernels> AllKernels() {
  std::vector<CodecKernels> all;
  for (const chain::Kernels* chain : ChainKernelsHere()) {
    all.push_back({chain, &huffman::Scalar()});
  }
  for (const huffman::Kernels* huffman : HuffmanKernelsHere()) {
    all.push_back({&chain::Scalar(), huffman});
  }
  return all;
}

// Encodes `raw` as one chunk and expects every kernel to give it back, at an odd address as well.
void RoundTrip(Codec codec, Element element, std::span<const std::byte> raw) {
  ChunkEncoder encoder(codec, element);
  encoder.Begin(raw);
  std::vector<std::byte> stored(encoder.MostBytes(raw.size() / ElementBytes(element)) +
                                kCodecSlack);
  const size_t size = encoder.Encode(raw, stored);
  ASSERT_LE(size, stored.size() - kCodecSlack);
  for (const CodecKernels& kernels : AllKernels()) {
    ChunkDecoder decoder(kernels);
    ASSERT_TRUE(decoder.Begin(codec, element, encoder.code()));
    for (const Store store : {Store::kCached, Store::kStreaming}) {
      for (const size_t shift : {0, 2}) {
        std::vector<std::byte> out(raw.size() + 64, std::byte{0xee});
        const auto place = std::span(out).subspan(shift, raw.size());
        ASSERT_TRUE(decoder.Decode({stored.data(), size}, place, store));
        ASSERT_TRUE(std::equal(raw.begin(), raw.end(), place.begin()))
            << kernels.chain->name << " " << kernels.huffman->name;
        for (size_t i = shift + raw.size(); i < out.size(); ++i) ASSERT_EQ(out[i], std::byte{0xee});
      }
    }
  }
}

TEST(Codec, EveryCodecGivesEveryElementBack) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (const Codec codec : {Codec::kRaw, Codec::kChain, Codec::kHuffman}) {
    for (const Element element : kElements) {
      for (const size_t n : {size_t{1}, size_t{2}, size_t{63}, size_t{4096}, size_t{9000}}) {
        std::vector<std::byte> raw(n * ElementBytes(element));
        for (std::byte& byte : raw)
          byte = static_cast<std::byte>(random() % 7 == 0 ? random() : 60);
        RoundTrip(codec, element, raw);
      }
    }
  }
}

TEST(Codec, EveryPatternOfShortElementsComesBack) {
  std::vector<uint16_t> wide(65536);
  std::vector<uint8_t> narrow(4096);
  for (size_t i = 0; i < wide.size(); ++i) wide[i] = static_cast<uint16_t>(i);
  for (size_t i = 0; i < narrow.size(); ++i) narrow[i] = static_cast<uint8_t>(i);
  for (const Codec codec : {Codec::kChain, Codec::kHuffman}) {
    RoundTrip(codec, Element::kBf16, std::as_bytes(std::span(wide)));
    RoundTrip(codec, Element::kF16, std::as_bytes(std::span(wide)));
    RoundTrip(codec, Element::kF8E4M3, std::as_bytes(std::span(narrow)));
    RoundTrip(codec, Element::kF8E5M2, std::as_bytes(std::span(narrow)));
  }
}

TEST(Codec, WhatIsNoStripeIsRefused) {
  ChunkDecoder decoder(ChooseCodecKernels("scalar", nullptr));
  const std::byte junk[8] = {};
  EXPECT_FALSE(decoder.Begin(static_cast<Codec>(3), Element::kBf16, {}));
  EXPECT_FALSE(decoder.Begin(Codec::kRaw, static_cast<Element>(6), {}));
  EXPECT_FALSE(decoder.Begin(Codec::kChain, Element::kBytes, {})) << "bytes are raw only";
  EXPECT_FALSE(decoder.Begin(Codec::kChain, Element::kBf16, junk)) << "it has no code";
  EXPECT_FALSE(decoder.Begin(Codec::kHuffman, Element::kBf16, {})) << "it needs one";
  ASSERT_TRUE(decoder.Begin(Codec::kRaw, Element::kBf16, {}));
  std::byte out[8];
  EXPECT_FALSE(decoder.Decode(junk, std::span(out).first(6), Store::kCached)) << "other sizes";
  EXPECT_FALSE(decoder.Decode(std::span(junk).first(7), std::span(out).first(7), Store::kCached))
      << "half an element";
  ASSERT_TRUE(decoder.Begin(Codec::kChain, Element::kBf16, {}));
  EXPECT_FALSE(decoder.Decode(std::span(junk).first(3), out, Store::kCached)) << "no room for rest";
}

}  // namespace
}  // namespace penstock::ops
