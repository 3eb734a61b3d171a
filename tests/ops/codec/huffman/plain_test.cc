#include "tests/ops/codec/huffman/planes.h"

namespace penstock::ops::huffman {
namespace {

TEST(HuffmanPlain, KnownBytes) {
  Code code;
  code.lengths[9] = 1;
  code.lengths[2] = 2;
  code.lengths[4] = 3;
  code.lengths[7] = 3;
  const Bytes coded = {1, 5, 0, 0, 0, 2, 0, 0, 0,    0,    0,    0,
                       0, 0, 0, 0, 0, 0, 0, 0, 0xc0, 0x03, 0x03, 0};
  Bytes want(40, 9);
  want[0] = 2;
  want[1] = 7;
  want[39] = 4;
  Bytes got(40);
  ASSERT_TRUE(DecodePlainly(code, coded.data(), coded.size(), 40, got.data()));
  EXPECT_EQ(got, want);
}

TEST(HuffmanPlain, RoundTrips) {
  Draw draw(1);
  SCOPED_TRACE(draw.Seed());
  for (const unsigned limit : {kLimit, kLongLimit}) {
    for (const size_t n : {0u, 1u, 2u, 31u, 32u, 33u, 127u, 128u, 129u, 1000u, 5000u}) {
      const Bytes symbols = Falling(draw, n, 0.7);
      const Code code = CodeOf(Falling(draw, 100000, 0.7), limit);
      Code wide = code;  // Of more symbols than occur here; those that occur need a length.
      Counts counts = CountsOf(Falling(draw, 100000, 0.7));
      for (const uint8_t symbol : symbols) ++counts.of[symbol];
      wide = MakeCode(counts.of, limit);
      const Bytes coded = EncodePlane(wide, symbols);
      const Fenced input(coded, 0);
      Guarded<uint8_t> out(n);
      ASSERT_TRUE(DecodePlainly(wide, input.data(), coded.size(), n, out.data())) << n;
      EXPECT_EQ(out.values(), symbols);
      EXPECT_TRUE(out.Untouched());
    }
  }
}

TEST(HuffmanPlain, SpareBitsAndSpareBytesAreRefused) {
  const Bytes symbols(100, 1);
  Counts counts;
  counts.of[1] = 5;
  counts.of[2] = 1;
  counts.of[3] = 1;
  const Code code = MakeCode(counts.of, kLimit);
  const Bytes coded = EncodePlane(code, symbols);  // 100 bits in streams of 4, 4, 4 and 1 bytes.
  Bytes out(100);
  ASSERT_EQ(coded.size(), kPlaneHeaderBytes + 13);
  ASSERT_TRUE(DecodePlainly(code, coded.data(), coded.size(), 100, out.data()));
  for (int bit = 4; bit < 8; ++bit) {
    Bytes spoilt = coded;
    spoilt.back() |= static_cast<uint8_t>(1u << bit);
    EXPECT_FALSE(DecodePlainly(code, spoilt.data(), spoilt.size(), 100, out.data()));
  }
  Bytes longer = coded;
  longer.push_back(0);
  longer[13] = 2;
  EXPECT_FALSE(DecodePlainly(code, longer.data(), longer.size(), 100, out.data()));
}

}  // namespace
}  // namespace penstock::ops::huffman
