// Which decoders are chosen, and that one that is wrong never is.

#include "ops/codec/choose.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/runtime/notices.h"

namespace penstock::ops {
namespace {

TEST(ChooseCodecKernels, ScalarIsTakenWhenItIsAskedFor) {
  const CodecKernels chosen = ChooseCodecKernels("scalar", {});
  EXPECT_EQ(chosen.chain, &chain::Scalar());
  EXPECT_EQ(chosen.huffman, &huffman::Scalar());
}

TEST(ChooseCodecKernels, TakesSomeOfThisMachineAndFindsNothingWrong) {
  Notices notices;
  const CodecKernels chosen = ChooseCodecKernels("auto", notices.Sink());
  EXPECT_EQ(std::ranges::count(ChainKernelsHere(), chosen.chain), 1);
  EXPECT_EQ(std::ranges::count(HuffmanKernelsHere(), chosen.huffman), 1);
  EXPECT_EQ(notices.All(), "");
}

TEST(ChooseCodecKernels, ListsBeginWithScalar) {
  EXPECT_EQ(ChainKernelsHere().front(), &chain::Scalar());
  EXPECT_EQ(HuffmanKernelsHere().front(), &huffman::Scalar());
  EXPECT_EQ(ChainKernelsHere().size(),
            size_t{1} + (chain::Avx2() != nullptr) + (chain::Avx512() != nullptr));
  EXPECT_EQ(HuffmanKernelsHere().size(),
            size_t{1} + (huffman::Avx2() != nullptr) + (huffman::Avx512() != nullptr));
}

// Much faster than any decoder, and wrong.
constexpr chain::Kernels kWrongChain = {
    "wrong", nullptr,
    [](const uint8_t*, size_t, const uint8_t*, size_t, uint16_t*, bool) { return true; }};
constexpr chain::Kernels kRefusingChain = {
    "refusing", nullptr,
    [](const uint8_t*, size_t, const uint8_t*, size_t, uint16_t*, bool) { return false; }};
constexpr huffman::Kernels kWrongHuffman = {
    "wrong", nullptr,
    [](const huffman::Tables::Contents&, const uint8_t*, size_t, const uint8_t*, size_t, uint16_t*,
       bool) { return true; }};

TEST(ChooseCodecKernels, WrongOnesAreLeftOutAndTold) {
  Notices notices;
  const chain::Kernels* const chains[] = {&chain::Scalar(), &kWrongChain, &kRefusingChain};
  EXPECT_EQ(FastestChain(chains, notices.Sink()), &chain::Scalar());
  EXPECT_EQ(notices.Count(""), 2u);
  const huffman::Kernels* const huffmans[] = {&huffman::Scalar(), &kWrongHuffman};
  EXPECT_EQ(FastestHuffman(huffmans, notices.Sink()), &huffman::Scalar());
  EXPECT_EQ(notices.Count(""), 3u);
}

// Decodes as scalar does, several times.
bool DecodeSlowly(const uint8_t* coded, size_t coded_bytes, const uint8_t* rest, size_t n,
                  uint16_t* out, bool streaming) {
  bool good = true;
  for (int i = 0; i < 8; ++i) {
    good = chain::Scalar().bf16(coded, coded_bytes, rest, n, out, streaming) && good;
  }
  return good;
}

TEST(ChooseCodecKernels, TheFasterOneIsTakenWhereverItStands) {
  constexpr chain::Kernels kSlow = {"slow", nullptr, DecodeSlowly};
  const chain::Kernels* const slow_last[] = {&chain::Scalar(), &kSlow};
  EXPECT_EQ(FastestChain(slow_last, {}), &chain::Scalar());
  const chain::Kernels* const slow_first[] = {&kSlow, &chain::Scalar()};
  EXPECT_EQ(FastestChain(slow_first, {}), &chain::Scalar());
}

}  // namespace
}  // namespace penstock::ops
