#include "models/text/encoding/vocabulary.h"

#include <functional>

#include <gtest/gtest.h>

#include "tests/models/text/encoding/small_vocabulary.h"

namespace penstock::text {
namespace {

constexpr size_t kVocab = 258 + 256;  // 256 bytes, "th" and "the", and the specials.

std::string Ranks() { return RanksFile({"th", "the"}); }
constexpr const char* kConfig =
    R"({"added_tokens_decoder": {"258": {"content": "[BOS]"}, "513": {"content": "[PAD]"}}})";

Result<Vocabulary> Parse(std::string ranks, std::string config, size_t vocab = kVocab) {
  return Vocabulary::Parse({"t.model", std::move(ranks)}, {"c.json", std::move(config)}, vocab);
}

void ExpectRefused(const Result<Vocabulary>& vocabulary, const std::string& mention) {
  ASSERT_FALSE(vocabulary) << mention;
  EXPECT_EQ(vocabulary.error().code, ErrorCode::kRefused);
  EXPECT_NE(vocabulary.error().message.find(mention), std::string::npos)
      << vocabulary.error().message;
}

TEST(Vocabulary, KnowsRanksAndSpecials) {
  const auto v = Parse(Ranks(), kConfig);
  ASSERT_TRUE(v) << v.error().message;
  EXPECT_EQ(v->rank_count(), 258u);
  EXPECT_EQ(v->size(), kVocab);
  EXPECT_EQ(v->longest_rank_bytes(), 3u);
  EXPECT_EQ(v->FindRank("the"), 257u);
  EXPECT_EQ(v->FindRank("he"), std::nullopt);
  EXPECT_EQ(v->FindRank("them"), std::nullopt);
  EXPECT_EQ(v->FindRank(""), std::nullopt);
  EXPECT_EQ(v->FindSpecial("[BOS]"), 258u);
  EXPECT_EQ(v->FindSpecial("<|reserved_token_259|>"), 259u);
  EXPECT_EQ(v->FindSpecial("<|reserved_token_258|>"), std::nullopt);
  EXPECT_EQ(v->FindSpecial("the"), std::nullopt);
  EXPECT_EQ(v->Bytes(256), "th");
  EXPECT_EQ(v->Bytes(0), std::string(1, '\0'));
  EXPECT_EQ(v->Bytes(513), "[PAD]");
  EXPECT_EQ(v->Bytes(4'000'000'000), "<|reserved_token_4000000000|>");
  EXPECT_FALSE(v->IsSpecial(257));
  EXPECT_TRUE(v->IsSpecial(258));
}

TEST(Vocabulary, StaysValidWhenMoved) {
  auto parsed = Parse(Ranks(), kConfig);
  ASSERT_TRUE(parsed);
  const Vocabulary moved = std::move(*parsed);
  EXPECT_EQ(moved.FindRank("the"), 257u);
  EXPECT_EQ(moved.Bytes(257), "the");
}

TEST(Vocabulary, AcceptsAFileWithoutALastLineBreakAndAPaddedHead) {
  std::string ranks = Ranks();
  ranks.pop_back();
  EXPECT_TRUE(Parse(ranks, kConfig));
  EXPECT_TRUE(Parse(ranks, kConfig, kVocab + 1));
  EXPECT_TRUE(Parse(ranks, kConfig, SIZE_MAX));
}

TEST(Vocabulary, RefusesRanksThatDoNotFitTheModel) {
  for (const size_t vocab : {size_t{0}, size_t{255}, size_t{256}, kVocab - 1}) {
    const std::string line = "line " + std::to_string(vocab < 256 ? 1 : vocab - 256 + 1);
    ExpectRefused(Parse(Ranks(), kConfig, vocab), "t.model, " + line + ":");
  }
}

TEST(Vocabulary, RefusesEveryDefectOfALineAndNamesIt) {
  const std::string ranks = Ranks();
  const std::string good = "dGhl 257";  // "the"
  const std::string bad[] = {"dGhl 258",
                             "dGhl 256",
                             "dGhl 0257",
                             "dGhl  257",
                             "dGhl 257 ",
                             "dGhl 257\r",
                             "dGhl\t257",
                             "dGhl",
                             "dGhl ",
                             " 257",
                             "257",
                             "",
                             "=== 257",
                             "dGh 257",
                             "dGhl= 257",
                             "dG*l 257",
                             "dGg= 257",  // "th" again
                             "dA== 257",  // "t" again
                             std::string(Vocabulary::kMaxTokenBytes / 3 * 4 + 8, 'A') + " 257",
                             "dGhl 99999999999999999999999999"};
  for (const std::string& line : bad) {
    std::string changed = ranks;
    changed.replace(changed.find(good), good.size(), line);
    // Another line behind: an empty last line is the end of a file, not a defect.
    ExpectRefused(Parse(changed + "eHl6 258\n", kConfig, 1000), "t.model, line 258:");
  }
}

TEST(Vocabulary, AcceptsTheLongestTokenAllowed) {
  const std::string longest(Vocabulary::kMaxTokenBytes / 3 * 3, '\0');
  const std::string zeros(longest.size() / 3 * 4, 'A');
  const auto v = Parse(Ranks() + zeros + " 258\n", R"({"added_tokens_decoder": {}})", 1000);
  ASSERT_TRUE(v) << v.error().message;
  EXPECT_EQ(v->FindRank(longest), 258u);
}

TEST(Vocabulary, RefusesAMissingSingleByte) {
  std::string ranks = Ranks();
  ranks.replace(0, 4, "dGg=");  // Rank 0 is "th" now: then line 257 stands twice.
  ExpectRefused(Parse(ranks, kConfig), "t.model, line 257:");
  std::string unlike = Ranks();
  unlike.replace(0, 4, "eHl6");  // Rank 0 is "xyz", byte 0 is nowhere.
  ExpectRefused(Parse(unlike, kConfig), "0x00");
  ExpectRefused(Parse("", kConfig), "0x00");
}

TEST(Vocabulary, RefusesSpecialsThatCollide) {
  const auto with = [](const std::string& entries) {
    return Parse(Ranks(), "{\"added_tokens_decoder\": {" + entries + "}}");
  };
  ExpectRefused(with(R"("257": {"content": "x"})"), "257");
  ExpectRefused(with(R"("514": {"content": "x"})"), "514");
  ExpectRefused(with(R"("0": {"content": "x"})"), "c.json");
  ExpectRefused(with(R"("258": {"content": "x"}, "259": {"content": "x"})"), "259");
  ExpectRefused(with(R"("258": {"content": "<|reserved_token_300|>"})"), "300");
  ExpectRefused(with(R"("258": {"content": "x"}, "258": {"content": "y"})"), "258");
  EXPECT_TRUE(with(R"("258": {"content": "<|reserved_token_258|>"})"));
}

// A file with one byte changed, or cut short, is refused or still a vocabulary.
TEST(Vocabulary, SurvivesMutation) {
  const std::string ranks = Ranks();
  size_t refused = 0;
  for (size_t at = 0; at < ranks.size(); at += 5) {
    for (const char c : {'\0', '\n', ' ', '=', 'B', '9', '\xFF'}) {
      std::string changed = ranks;
      changed[at] = c;
      const auto v = Parse(std::move(changed), kConfig);
      if (!v) {
        EXPECT_EQ(v.error().code, ErrorCode::kRefused);
        ++refused;
      }
    }
    // Without its last line break alone the file is whole.
    EXPECT_EQ(bool(Parse(ranks.substr(0, at), kConfig)), at + 1 == ranks.size()) << at;
  }
  EXPECT_GT(refused, ranks.size() / 5 * 6);
}

}  // namespace
}  // namespace penstock::text
