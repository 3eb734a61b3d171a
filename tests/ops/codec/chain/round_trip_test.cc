// What the encoder writes, and what a second writer writes in shapes the encoder seldom takes, comes
// back from every decoder of this machine.

#include <cmath>

#include <gtest/gtest.h>

#include "ops/codec/chain/format.h"
#include "tests/ops/codec/chain/cases.h"

namespace penstock::ops::chain {
namespace {

constexpr uint64_t kSeed = 20260412;

Bytes Encoded(const Bytes& symbols) {
  Bytes coded(MostBytes(symbols.size()) + 8, 0xee);
  const size_t bytes = Encode(symbols.data(), symbols.size(), coded.data());
  EXPECT_LE(bytes, MostBytes(symbols.size()));
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(coded[MostBytes(symbols.size()) + i], 0xee);
  coded.resize(bytes);
  return coded;
}

void ExpectDecodes(const Bytes& coded, const Bytes& symbols) {
  const Bytes rest = DrawBytes(symbols.size(), kSeed + 1);
  const std::vector<uint16_t> elements = Merged(symbols, rest);
  for (const Kernels* kernels : KernelsHere()) {
    SCOPED_TRACE(kernels->name);
    EXPECT_TRUE(Symbols(*kernels, coded, symbols.size()) == symbols);
    EXPECT_TRUE(Bf16(*kernels, coded, rest, false) == elements);
    EXPECT_TRUE(Bf16(*kernels, coded, rest, true) == elements);
  }
}

std::vector<size_t> Lengths() {
  std::vector<size_t> lengths = {0, 1, 2, 3, 7, 8, 9, 31, 32, 33, 1000, 3 * kUnit};
  for (const size_t around : {size_t{64}, size_t{256}, kUnit, size_t{4096}, kMostBlock}) {
    for (const size_t n : {around - 65, around - 1, around, around + 1, around + 63}) {
      if (n < 2 * kMostBlock) lengths.push_back(n);
    }
  }
  return lengths;
}

TEST(ChainRoundTrip, EveryDrawAndLength) {
  for (const Draw draw : kDraws) {
    for (const size_t n : Lengths()) {
      SCOPED_TRACE(testing::Message()
                   << "draw " << static_cast<int>(draw) << ", n " << n << ", seed " << kSeed);
      const Bytes symbols = DrawSymbols(draw, n, kSeed);
      ExpectDecodes(Encoded(symbols), symbols);
    }
  }
}

TEST(ChainRoundTrip, EveryLengthAroundTheWordAndTheGroup) {
  for (size_t n = 0; n <= 330; ++n) {
    SCOPED_TRACE(testing::Message() << "n " << n << ", seed " << kSeed);
    const Bytes symbols = DrawSymbols(Draw::kTrained, n, kSeed + n);
    ExpectDecodes(Encoded(symbols), symbols);
  }
}

TEST(ChainRoundTrip, ManyBlocks) {
  for (const Draw draw : {Draw::kTrained, Draw::kRuns}) {
    const Bytes symbols = DrawSymbols(draw, 57344 + 777, kSeed);
    ExpectDecodes(Encoded(symbols), symbols);
  }
}

TEST(ChainRoundTrip, BlocksOfAllKindsInOnePlane) {
  Bytes symbols;
  for (int i = 0; i < 3; ++i) {
    for (const Draw draw : kDraws) {
      const Bytes part = DrawSymbols(draw, kUnit, kSeed + static_cast<uint64_t>(i));
      symbols.insert(symbols.end(), part.begin(), part.end());
    }
  }
  symbols.resize(symbols.size() - 100);
  ExpectDecodes(Encoded(symbols), symbols);
}

// All numbers of levels, with a dictionary that fits well or not at all: then whole words escape.
TEST(ChainRoundTrip, EveryShape) {
  for (unsigned wide = 0; wide <= kMostWide; ++wide) {
    for (unsigned narrow = wide == 0 ? 1 : 0; 3 * wide + narrow <= kMostSymbols; ++narrow) {
      for (const Draw draw : {Draw::kTrained, Draw::kRuns, Draw::kUniform}) {
        SCOPED_TRACE(testing::Message() << "wide " << wide << ", narrow " << narrow << ", draw "
                                        << static_cast<int>(draw) << ", seed " << kSeed);
        const uint8_t first = draw == Draw::kTrained ? 121 : 100;
        Shape shape = {wide, narrow, 2, {}};
        for (unsigned i = 0; i < 3 * wide + narrow; ++i) {
          shape.dictionary.push_back(
              static_cast<uint8_t>(draw == Draw::kTrained ? first - i : first + i));
        }
        const Bytes symbols = DrawSymbols(draw, 2 * kUnit + 421, kSeed + 9 * wide + narrow);
        ExpectDecodes(EncodeAs(shape, symbols), symbols);
      }
    }
  }
}

TEST(ChainRoundTrip, ExceptionsAtTheEnds) {
  for (const size_t n : {size_t{64}, size_t{250}, size_t{256}, size_t{1000}, kUnit, kUnit + 1}) {
    Bytes symbols(n, 9);
    for (const size_t i : {size_t{0}, size_t{63}, n / 2, n - 1}) {
      symbols[i] = static_cast<uint8_t>(200 + i % 50);
    }
    ExpectDecodes(EncodeAs({1, 0, 1, {9, 8, 7}}, symbols), symbols);
    ExpectDecodes(EncodeAs({0, 1, 1, {9}}, symbols), symbols);
    ExpectDecodes(Encoded(symbols), symbols);
  }
}

TEST(ChainRoundTrip, OutputAtAnyAddress) {
  const Bytes symbols = DrawSymbols(Draw::kTrained, kUnit + 77, kSeed);
  const Bytes rest = DrawBytes(symbols.size(), kSeed);
  const Bytes coded = Encoded(symbols);
  const std::vector<uint16_t> elements = Merged(symbols, rest);
  for (const Kernels* kernels : KernelsHere()) {
    for (size_t shift = 0; shift < 64; ++shift) {
      SCOPED_TRACE(testing::Message() << kernels->name << ", shift " << shift);
      EXPECT_TRUE(Bf16(*kernels, coded, rest, true, shift) == elements);
      EXPECT_TRUE(Bf16(*kernels, coded, rest, false, shift) == elements);
    }
  }
}

TEST(ChainSize, RandomSymbolsDoNotExpand) {
  const Bytes symbols = DrawSymbols(Draw::kUniform, 57344, kSeed);
  EXPECT_LE(Encoded(symbols).size(), 57344u + 1 + 57344 / kUnit);
}

TEST(ChainSize, OneSymbolTakesThreeBytes) { EXPECT_EQ(Encoded(Bytes(kMostBlock, 5)).size(), 3u); }

// The entropy of the exponent of a normal variable at this scale is 2.55 bits.
TEST(ChainSize, TrainedWeightsComeNearTheirEntropy) {
  const Bytes symbols = DrawSymbols(Draw::kTrained, 57344, kSeed);
  double entropy = 0;
  double counts[256] = {};
  for (const uint8_t symbol : symbols) ++counts[symbol];
  for (const double count : counts) {
    if (count > 0) entropy -= count * std::log2(count / static_cast<double>(symbols.size()));
  }
  EXPECT_LT(static_cast<double>(Encoded(symbols).size()), entropy / 8 * 1.03);
}

}  // namespace
}  // namespace penstock::ops::chain
