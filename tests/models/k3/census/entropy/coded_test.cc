#include "models/k3/census/entropy/coded.h"

#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace penstock::k3 {
namespace {

// n bf16 values of a normal distribution.
std::vector<std::byte> Normal(size_t n) {
  std::mt19937_64 random(12);
  std::normal_distribution<float> normal(0, 0.02f);
  std::vector<std::byte> out(2 * n);
  for (size_t i = 0; i < n; ++i) {
    const float value = normal(random);
    std::memcpy(out.data() + 2 * i, reinterpret_cast<const std::byte*>(&value) + 2, 2);
  }
  return out;
}

TEST(CodedBytes, RawTakesItsBytes) {
  const auto raw = Normal(3 * kCensusChunk + 5);
  EXPECT_EQ(CodedBytes(ops::Codec::kRaw, ops::Element::kBf16, raw), raw.size());
  EXPECT_EQ(CodedBytes(ops::Codec::kRaw, ops::Element::kBytes, raw), raw.size());
  EXPECT_EQ(CodedBytes(ops::Codec::kChain, ops::Element::kBytes, raw), raw.size());
  EXPECT_EQ(CodedBytes(ops::Codec::kRaw, ops::Element::kBf16, {}), 0u);
}

// A normal distribution has 2.54 bits of exponent; sign and mantissa stay 8. A prefix code cannot
// do better and loses less than a tenth of a bit here; the chain's escapes cost some more.
TEST(CodedBytes, CodecsComeNearTheEntropy) {
  const size_t n = 3 * kCensusChunk + 5;
  const auto raw = Normal(n);
  const auto bits = [&](ops::Codec codec) {
    return 8 * static_cast<double>(CodedBytes(codec, ops::Element::kBf16, raw)) /
           static_cast<double>(n);
  };
  EXPECT_GT(bits(ops::Codec::kHuffman), 10.5);
  EXPECT_LT(bits(ops::Codec::kHuffman), 10.7);
  EXPECT_GT(bits(ops::Codec::kChain), 10.5);
  EXPECT_LT(bits(ops::Codec::kChain), 12);
}

}  // namespace
}  // namespace penstock::k3
