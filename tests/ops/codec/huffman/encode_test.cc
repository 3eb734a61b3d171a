#include <numeric>

#include "tests/ops/codec/huffman/planes.h"

namespace penstock::ops::huffman {
namespace {

TEST(HuffmanEncode, BytesOfAKnownPlane) {
  Code code;
  code.lengths[9] = 1;   // 0
  code.lengths[2] = 2;   // 10
  code.lengths[4] = 3;   // 110
  code.lengths[7] = 3;   // 111
  Bytes symbols(40, 9);  // Quarters of 32 and 8.
  symbols[0] = 2;
  symbols[1] = 7;
  symbols[39] = 4;
  const Bytes coded = EncodePlane(code, symbols);
  EXPECT_EQ(coded, (Bytes{1, 5, 0, 0,    0,    2,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  //
                          0, 0, 0, 0xc0, 0x03, 0x03, 0}));
}

TEST(HuffmanEncode, RawWhereCodingDoesNotPay) {
  Draw draw(1);
  const Bytes random = draw.Bytes(4096);
  Bytes every(256);
  std::iota(every.begin(), every.end(), uint8_t{0});
  const Bytes coded = EncodePlane(CodeOf(every, kLimit), random);
  ASSERT_EQ(coded.size(), random.size() + 1);
  EXPECT_EQ(coded[0], kRawPlane);
  EXPECT_EQ(Bytes(coded.begin() + 1, coded.end()), random);
}

TEST(HuffmanEncode, NothingForOneSymbolOrNone) {
  const Bytes constant(1000, 77);
  EXPECT_TRUE(EncodePlane(CodeOf(constant, kLimit), constant).empty());
  EXPECT_TRUE(EncodePlane(CodeOf({1, 2, 3}, kLimit), {}).empty());
}

TEST(HuffmanEncode, TakesTheBitsOfItsCode) {
  Draw draw(2);
  SCOPED_TRACE(draw.Seed());
  const Bytes symbols = Falling(draw, 57344, 0.6);
  const Code code = CodeOf(symbols, kLimit);
  size_t bits = 0;
  for (const uint8_t symbol : symbols) bits += code.lengths[symbol];
  const size_t size = EncodePlane(code, symbols).size();
  EXPECT_GE(size, kPlaneHeaderBytes + bits / 8);
  EXPECT_LE(size, kPlaneHeaderBytes + bits / 8 + kStreams);
  EXPECT_LE(size, MostBytes(symbols.size()));
}

using HuffmanEncodeDeathTest = ::testing::Test;
TEST(HuffmanEncodeDeathTest, ASymbolWithoutALength) {
  const Code code = CodeOf({1, 2, 3}, kLimit);
  const Bytes symbols(100, 4);
  EXPECT_DEATH(EncodePlane(code, symbols), "");
}

}  // namespace
}  // namespace penstock::ops::huffman
