#include "ops/codec/huffman/format.h"

#include <algorithm>

#include "tests/ops/codec/huffman/planes.h"

namespace penstock::ops::huffman {
namespace {

TEST(HuffmanFormat, QuartersAreGroupsOf32AndMakeUpThePlane) {
  for (const size_t n : {0u, 1u, 31u, 32u, 33u, 96u, 97u, 127u, 128u, 129u, 160u, 57344u, 57345u}) {
    const Quarters quarters = QuartersOf(n);
    EXPECT_EQ(quarters.begin[0], 0u);
    EXPECT_EQ(quarters.begin[kStreams], n);
    const size_t quarter = (n + 127) / 128 * 32;
    for (size_t s = 1; s < kStreams; ++s) {
      EXPECT_EQ(quarters.begin[s], std::min(s * quarter, n)) << n;
    }
    EXPECT_LE(n - quarters.begin[3], quarter);
  }
}

Bytes Header(std::vector<uint32_t> sizes) {
  Bytes bytes = {kCodedPlane};
  for (const uint32_t size : sizes) {
    for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<uint8_t>(size >> 8 * i));
  }
  return bytes;
}

TEST(HuffmanFormat, StreamSizesAddUp) {
  Streams streams;
  const auto reads = [&](const Bytes& header, size_t size) {
    return ReadStreams(header.data(), size, streams);
  };
  ASSERT_TRUE(reads(Header({1, 2, 0, 4}), 17 + 7));
  EXPECT_EQ(streams.begin[0], 17u);
  EXPECT_EQ(streams.begin[1], 18u);
  EXPECT_EQ(streams.begin[2], 20u);
  EXPECT_EQ(streams.begin[3], 20u);
  EXPECT_EQ(streams.begin[4], 24u);
  EXPECT_FALSE(reads(Header({1, 2, 0, 4}), 17 + 6));
  EXPECT_FALSE(reads(Header({1, 2, 0, 4}), 17 + 8));
  EXPECT_FALSE(reads(Header({0, 0, 0, 0}), 16));
  EXPECT_FALSE(reads(Header({0xffffffff, 1, 0, 0}), 17));  // Sums to 0 in 32 bits.
  EXPECT_FALSE(reads(Header({0x80000000, 0x80000000, 3, 4}), 17 + 7));
}

TEST(HuffmanFormat, CanonicalCodesBeginWithTheirHighestBit) {
  Code code;
  code.lengths[9] = 1;
  code.lengths[2] = 2;
  code.lengths[4] = 3;
  code.lengths[7] = 3;
  uint8_t order[256];
  ASSERT_EQ(CanonicalOrder(code, order), 4u);
  EXPECT_EQ(Bytes(order, order + 4), (Bytes{9, 2, 4, 7}));
  uint16_t codes[256];
  StreamCodes(code, codes);
  EXPECT_EQ(codes[9], 0b0);
  EXPECT_EQ(codes[2], 0b01);   // 10
  EXPECT_EQ(codes[4], 0b011);  // 110
  EXPECT_EQ(codes[7], 0b111);
}

}  // namespace
}  // namespace penstock::ops::huffman
