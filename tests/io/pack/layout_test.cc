#include "io/pack/layout.h"

#include <array>
#include <string_view>

#include <gtest/gtest.h>

namespace penstock::io {
namespace {

TEST(PackLayout, WidthsAndCodecsAreThoseOfTheFormat) {
  constexpr std::array<uint64_t, 7> kWidths = {1, 2, 2, 1, 1, 4, 0};
  for (uint8_t element = 0; element < kWidths.size(); ++element) {
    EXPECT_EQ(ElementWidth(element), kWidths[element]) << int{element};
  }
  EXPECT_EQ(ElementWidth(255), 0u);
  constexpr std::array<std::string_view, 3> kNames = {"raw", "chain", "huffman"};
  for (uint8_t codec = 0; codec < kNames.size(); ++codec) {
    EXPECT_EQ(CodecName(codec), kNames[codec]);
    EXPECT_EQ(CodecNumber(kNames[codec]), codec);
  }
  EXPECT_EQ(CodecName(3), "unknown");
  EXPECT_FALSE(CodecNumber("unknown"));
  EXPECT_FALSE(CodecNumber(""));
}

// The published value for no bytes at all.
TEST(PackLayout, SumsAreXxh3) {
  EXPECT_EQ(SumText(SumOf({})), "2d06800538d394c2");
  EXPECT_EQ(ParseSum("2d06800538d394c2"), 0x2d06800538d394c2u);
  EXPECT_EQ(SumText(1), "0000000000000001");
  for (const std::string_view bad : {"", "2d06800538d394c", "2d06800538d394c22", "2D06800538d394c2",
                                     "0x06800538d394c2", " d06800538d394c2", "-d06800538d394c2"}) {
    EXPECT_FALSE(ParseSum(bad)) << bad;
  }
}

TEST(PackLayout, FrontsCannotOverflow) {
  EXPECT_EQ(FrontBytes(1, 0), 64u);
  EXPECT_EQ(FrontBytes(1, 8), 64u);
  EXPECT_EQ(FrontBytes(1, 9), 128u);
  EXPECT_EQ(FrontBytes(UINT32_MAX, UINT32_MAX), (uint64_t{25} << 32) + 64);
}

TEST(PackLayout, AllZeroSeesEveryByte) {
  std::array<std::byte, 70> bytes = {};
  EXPECT_TRUE(AllZero(bytes));
  EXPECT_TRUE(AllZero({}));
  for (std::byte& byte : bytes) {
    byte = std::byte{0x80};
    EXPECT_FALSE(AllZero(bytes));
    byte = std::byte{0};
  }
}

}  // namespace
}  // namespace penstock::io
