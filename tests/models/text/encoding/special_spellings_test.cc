#include "models/text/encoding/special_spellings.h"

#include <gtest/gtest.h>

namespace penstock::text {
namespace {

TEST(SpecialSpellings, ReadsIdsAndIgnoresTheRest) {
  const auto spellings = ParseSpecialSpellings(
      R"({"x": [1, {"y": 2}], "added_tokens_decoder":
          {"7": {"content": "<a>", "special": true}, "12": {"content": "é"}}})",
      "f.json");
  ASSERT_TRUE(spellings) << spellings.error().message;
  EXPECT_EQ(*spellings, (std::map<uint64_t, std::string>{{7, "<a>"}, {12, "é"}}));
}

TEST(SpecialSpellings, RefusesEveryOtherForm) {
  const std::string cases[] = {
      "",
      "{",
      "[]",
      "3",
      "null",
      "{}",
      R"({"added_tokens_decoder": []})",
      R"({"added_tokens_decoder": {"7": "x"}})",
      R"({"added_tokens_decoder": {"7": {}}})",
      R"({"added_tokens_decoder": {"7": {"content": ""}}})",
      R"({"added_tokens_decoder": {"7": {"content": 5}}})",
      R"({"added_tokens_decoder": {"07": {"content": "x"}}})",
      R"({"added_tokens_decoder": {"-7": {"content": "x"}}})",
      R"({"added_tokens_decoder": {"": {"content": "x"}}})",
      R"({"added_tokens_decoder": {"4294967296": {"content": "x"}}})",
      R"({"added_tokens_decoder": {"99999999999999999999999": {"content": "x"}}})",
      R"({"added_tokens_decoder": {"7": {"content": "x"}, "7": {"content": "y"}}})",
      R"({"added_tokens_decoder": {}, "added_tokens_decoder": {"7": {"content": "x"}}})",
      "{\"added_tokens_decoder\": {\"7\": {\"content\": \"\xFF\"}}}",
      R"({"added_tokens_decoder": {"7": {"content": [)" + std::string(100'000, '['),
      R"({"added_tokens_decoder": {"7": {"content": )" + std::string(100'000, '[') +
          std::string(100'000, ']') + "}}}",
  };
  for (const std::string& json : cases) {
    const auto spellings = ParseSpecialSpellings(json, "f.json");
    ASSERT_FALSE(spellings) << json.substr(0, 100);
    EXPECT_EQ(spellings.error().code, ErrorCode::kRefused);
    EXPECT_NE(spellings.error().message.find("f.json"), std::string::npos);
    EXPECT_LT(spellings.error().message.size(), 300u);
  }
}

}  // namespace
}  // namespace penstock::text
