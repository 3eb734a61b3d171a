#include "models/text/encoding/base64.h"

#include <gtest/gtest.h>

namespace penstock::text {
namespace {

TEST(Base64, DecodesTheVectorsOfRfc4648) {
  const std::pair<const char*, const char*> cases[] = {{"", ""},
                                                       {"Zg==", "f"},
                                                       {"Zm8=", "fo"},
                                                       {"Zm9v", "foo"},
                                                       {"Zm9vYg==", "foob"},
                                                       {"Zm9vYmE=", "fooba"},
                                                       {"Zm9vYmFy", "foobar"}};
  for (const auto& [text, expected] : cases) {
    std::string bytes = "before";
    EXPECT_TRUE(DecodeBase64(text, bytes)) << text;
    EXPECT_EQ(bytes, expected);
  }
}

TEST(Base64, DecodesEveryByte) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t byte = 0; byte < 256; ++byte) {
    const std::string text = {kAlphabet[byte >> 2], kAlphabet[(byte & 3) << 4], '=', '='};
    std::string bytes;
    ASSERT_TRUE(DecodeBase64(text, bytes)) << text;
    EXPECT_EQ(bytes, std::string(1, static_cast<char>(byte)));
  }
}

TEST(Base64, RefusesWhatIsNotCanonical) {
  for (const std::string text :
       {"Z", "Zg", "Zg=", "Z===", "====", "=", "Zh==", "Zm9=", "Zg==Zg==", "Zm9v\n", "Zm-v", "Zm_v",
        "Z m9", "Zm9v====", "Zg=v", "\xC3\xA9=="}) {
    std::string bytes;
    EXPECT_FALSE(DecodeBase64(text, bytes)) << text;
  }
}

}  // namespace
}  // namespace penstock::text
