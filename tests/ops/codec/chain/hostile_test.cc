// Wrong bytes: every decoder answers as scalar does, and none reads more than 64 bytes behind its
// input or writes outside of its output. The buffers end at pages that may not be touched.

#include <gtest/gtest.h>

#include "ops/codec/chain/format.h"
#include "tests/ops/codec/chain/cases.h"

namespace penstock::ops::chain {
namespace {

constexpr uint64_t kHostileSeed = 7;

// Both answers of all decoders.
void ExpectAgree(const Bytes& coded, size_t n) {
  const auto expected = Symbols(Scalar(), coded, n);
  const Bytes rest(n, 0x81);
  for (const Kernels* kernels : KernelsHere()) {
    SCOPED_TRACE(kernels->name);
    EXPECT_TRUE(Symbols(*kernels, coded, n) == expected);
    const auto elements = Bf16(*kernels, coded, rest, true);
    ASSERT_EQ(elements.has_value(), expected.has_value());
    if (!expected) continue;
    EXPECT_TRUE(*elements == Merged(*expected, rest));
  }
}

Bytes Coded(Draw draw, size_t n) {
  const Bytes symbols = DrawSymbols(draw, n, kHostileSeed);
  Bytes coded(MostBytes(n));
  coded.resize(Encode(symbols.data(), n, coded.data()));
  return coded;
}

TEST(ChainHostile, EveryBitFlipped) {
  for (const Draw draw : {Draw::kTrained, Draw::kFew, Draw::kTwo}) {
    constexpr size_t kN = 300;
    Bytes coded = Coded(draw, kN);
    for (size_t bit = 0; bit < 8 * coded.size(); ++bit) {
      SCOPED_TRACE(testing::Message() << "draw " << static_cast<int>(draw) << ", bit " << bit);
      coded[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
      ExpectAgree(coded, kN);
      coded[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    }
  }
}

TEST(ChainHostile, EveryTruncation) {
  for (const Draw draw : {Draw::kTrained, Draw::kUniform, Draw::kRuns}) {
    constexpr size_t kN = kUnit + 100;
    const Bytes coded = Coded(draw, kN);
    for (size_t size = 0; size < coded.size(); ++size) {
      const Bytes part(coded.begin(), coded.begin() + static_cast<ptrdiff_t>(size));
      for (const Kernels* kernels : KernelsHere()) {
        EXPECT_FALSE(Symbols(*kernels, part, kN).has_value()) << kernels->name << " " << size;
      }
    }
  }
}

TEST(ChainHostile, WrongLength) {
  const Bytes coded = Coded(Draw::kTrained, 500);
  for (size_t n = 0; n < 1200; ++n) {
    if (n != 500) ExpectAgree(coded, n);
  }
}

TEST(ChainHostile, RandomBytes) {
  std::mt19937_64 random(kHostileSeed);
  for (int round = 0; round < 1500; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << kHostileSeed << ", round " << round);
    Bytes coded = DrawBytes(random() % 600, random());
    if (coded.size() > 1 && round % 8 != 0) {
      coded[0] = static_cast<uint8_t>(1 + random() % 3);
      coded[1] &= 0x9f;  // At most one wide level: most of these go on.
    }
    ExpectAgree(coded, random() % 3000);
  }
}

// Everything escapes until nothing is left.
TEST(ChainHostile, OnlyOnes) {
  for (const size_t n : {size_t{64}, size_t{256}, size_t{1000}, kMostBlock}) {
    for (const uint8_t shape : {0x81, 0x90, 0x8f, 0xc3}) {
      Bytes coded(size_t{20} * n + 16, 0xff);
      coded[0] = 16;
      coded[1] = shape;
      const unsigned wide = shape >> 4 & 7;
      const unsigned narrow = shape & 15;
      const size_t words = (n + 63) / 64 * 8;
      const size_t later = n / 64 * 8 + (n % 64 + 7) / 8;
      const size_t planes = 2 * wide + narrow;
      const size_t first = wide > 0 ? 2 : 1;
      const size_t escapes = 2 + 3 * wide + narrow;
      coded[escapes] = static_cast<uint8_t>(n);
      coded[escapes + 1] = static_cast<uint8_t>(n >> 8);
      coded.resize(escapes + 2 + first * words + (planes - first) * later + n);
      EXPECT_EQ(Symbols(Scalar(), coded, n).has_value(), n % 64 == 0);
      ExpectAgree(coded, n);
      ExpectAgree(coded, n - 1);
      coded.pop_back();
      ExpectAgree(coded, n);
    }
  }
}

// The first block leaves exceptions behind in whatever a decoder keeps; the second has as many escapes
// and says that it has none, or fewer: no exceptions follow it.
TEST(ChainHostile, MoreEscapesThanTheBlockSays) {
  for (const size_t said : {size_t{0}, size_t{1}, size_t{64}, kUnit - 1}) {
    Bytes symbols(2 * kUnit, 9);
    Bytes coded = EncodeAs({0, 1, 1, {8}}, symbols);
    const size_t second = 1 + (coded.size() - 1) / 2;
    coded[second + 3] = static_cast<uint8_t>(said);
    coded[second + 4] = static_cast<uint8_t>(said >> 8);
    coded.resize(coded.size() - kUnit + said);
    for (const Kernels* kernels : KernelsHere()) {
      EXPECT_FALSE(Symbols(*kernels, coded, symbols.size()).has_value()) << kernels->name;
      EXPECT_FALSE(Bf16(*kernels, coded, symbols, true).has_value()) << kernels->name;
    }
  }
}

}  // namespace
}  // namespace penstock::ops::chain
