#include "models/text/encoding/utf8.h"

#include <gtest/gtest.h>

namespace penstock::text {
namespace {

using Kind = Utf8Char::Kind;

std::string EncodeUtf8(char32_t c) {
  std::string bytes;
  const auto add = [&](char32_t byte) { bytes += static_cast<char>(byte); };
  if (c < 0x80) {
    add(c);
  } else if (c < 0x800) {
    add(0xC0 | c >> 6);
    add(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    add(0xE0 | c >> 12);
    add(0x80 | (c >> 6 & 0x3F));
    add(0x80 | (c & 0x3F));
  } else {
    add(0xF0 | c >> 18);
    add(0x80 | (c >> 12 & 0x3F));
    add(0x80 | (c >> 6 & 0x3F));
    add(0x80 | (c & 0x3F));
  }
  return bytes;
}

TEST(Utf8, DecodesEveryCodePointAndNoSurrogate) {
  for (char32_t c = 0; c < 0x110000; ++c) {
    const std::string bytes = EncodeUtf8(c);
    const Utf8Char front = DecodeUtf8(bytes + "x");
    if (c >= 0xD800 && c < 0xE000) {
      ASSERT_EQ(front.kind, Kind::kInvalid) << static_cast<uint32_t>(c);
      ASSERT_EQ(front.bytes, 1u);
      continue;
    }
    ASSERT_EQ(front.kind, Kind::kValid) << static_cast<uint32_t>(c);
    ASSERT_EQ(front.bytes, bytes.size());
    ASSERT_EQ(front.code, c);
    for (size_t cut = 1; cut < bytes.size(); ++cut) {
      ASSERT_EQ(DecodeUtf8(std::string_view(bytes).substr(0, cut)).kind, Kind::kIncomplete);
    }
  }
}

TEST(Utf8, ReplacesMaximalSubparts) {
  const std::string r(kReplacementUtf8);
  // The examples of the Unicode Standard, chapter 3, "U+FFFD substitution".
  EXPECT_EQ(ReplaceInvalidUtf8("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"),
            r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(ReplaceInvalidUtf8("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"),
            r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(ReplaceInvalidUtf8("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"),
            r + r + r + r + r + "A" + r + r + "B");
  EXPECT_EQ(ReplaceInvalidUtf8("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), r + r + r + r + "A");
  EXPECT_EQ(ReplaceInvalidUtf8(std::string_view("\x00\xF0\x9F\x98", 4)), std::string(1, '\0') + r);
}

TEST(Utf8, TellsValidText) {
  EXPECT_TRUE(IsValidUtf8(""));
  EXPECT_TRUE(IsValidUtf8("na\xC3\xAFve"));
  EXPECT_FALSE(IsValidUtf8("na\xC3"));
  EXPECT_FALSE(IsValidUtf8("\xF8\x88\x80\x80\x80"));
}

}  // namespace
}  // namespace penstock::text
