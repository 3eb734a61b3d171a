#include "models/k3/pack/codec_choice.h"

#include <bit>
#include <random>

#include <gtest/gtest.h>

namespace penstock::k3 {
namespace {

constexpr CodecRate kRaw{ops::Codec::kRaw, 1, 0};
constexpr CodecRate kChain{ops::Codec::kChain, 0.672, 8e9};
constexpr CodecRate kHuffman{ops::Codec::kHuffman, 0.668, 3.5e9};

TEST(CodecChoice, WhatIsDeliveredIsBoundByTheDeviceOrTheCores) {
  EXPECT_DOUBLE_EQ(Delivered(kRaw, 3e9, 2), 3e9);
  EXPECT_DOUBLE_EQ(Delivered(kChain, 3e9, 1), 3e9 / 0.672);
  EXPECT_DOUBLE_EQ(Delivered(kHuffman, 3e9, 1), 3.5e9);
  EXPECT_DOUBLE_EQ(Delivered(kHuffman, 3e9, 2), 3e9 / 0.668);
}

TEST(CodecChoice, TakesWhatDeliversMostAndCostsLeastAmongEquals) {
  const CodecRate rates[] = {kRaw, kChain, kHuffman};
  EXPECT_EQ(ChooseCodec(rates, 3e9, 2), ops::Codec::kChain) << "as much as huffman, faster";
  EXPECT_EQ(ChooseCodec(rates, 3e9, 1), ops::Codec::kChain);
  EXPECT_EQ(ChooseCodec(rates, 14e9, 1), ops::Codec::kRaw) << "one core cannot keep up";
  EXPECT_EQ(ChooseCodec(rates, 14e9, 8), ops::Codec::kChain);
  const CodecRate noise[] = {kRaw, {ops::Codec::kChain, 1.001, 8e9}};
  EXPECT_EQ(ChooseCodec(noise, 3e9, 8), ops::Codec::kRaw);
  const CodecRate better[] = {kRaw, kChain, {ops::Codec::kHuffman, 0.6, 3.5e9}};
  EXPECT_EQ(ChooseCodec(better, 1e9, 8), ops::Codec::kHuffman) << "a tenth fewer bytes";
}

TEST(CodecChoice, MeasuresEveryCodecOnEveryKindOfElement) {
  const ops::CodecKernels kernels = ops::ChooseCodecKernels("auto", nullptr);
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, 0.02f);
  std::vector<std::byte> sample(1 << 19);
  for (size_t i = 0; i + 4 <= sample.size(); i += 2) {  // bf16, in place of each kind.
    const auto bits = std::bit_cast<uint32_t>(normal(random));
    sample[i] = static_cast<std::byte>(bits >> 16);
    sample[i + 1] = static_cast<std::byte>(bits >> 24);
  }
  for (size_t kind = 1; kind < kElementKinds; ++kind) {
    const auto rates = MeasureCodecs(static_cast<ops::Element>(kind), sample, kernels);
    ASSERT_TRUE(rates.has_value()) << rates.error().message;
    ASSERT_EQ(rates->size(), 3u);
    // A plane of exponents that is stored as it is takes a byte each, of whatever width.
    for (const CodecRate& rate : *rates) EXPECT_LT(rate.ratio, 1.5);
  }
  const auto bf16 = *MeasureCodecs(ops::Element::kBf16, sample, kernels);
  EXPECT_LT(bf16[1].ratio, 0.70);
  EXPECT_LT(bf16[2].ratio, 0.70);
  EXPECT_GT(bf16[1].decode_rate, 0);
  EXPECT_EQ(MeasureCodecs(ops::Element::kBytes, sample, kernels)->size(), 1u);
}

TEST(CodecChoice, ATableComesBackFromItsText) {
  CodecTable codecs{};
  codecs[1] = ops::Codec::kChain;
  codecs[2] = ops::Codec::kHuffman;
  codecs[4] = ops::Codec::kChain;
  const auto back = ParseCodecTable(CodecTableText(codecs));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(*back, codecs);
  for (const char* wrong : {"", "bf16 chain", "bf16 zip, f16 raw, e4m3 raw, e5m2 raw, f32 raw"}) {
    EXPECT_FALSE(ParseCodecTable(wrong).has_value()) << wrong;
  }
}

}  // namespace
}  // namespace penstock::k3
