#include "models/text/encoding/byte_pair.h"

#include <random>
#include <set>

#include <gtest/gtest.h>

#include "tests/models/text/encoding/small_vocabulary.h"
#include "tests/models/text/tiny_tokenizer.h"

namespace penstock::text {
namespace {

using Ids = std::vector<TokenId>;

Ids Merge(const Vocabulary& vocabulary, std::string_view piece) {
  Ids ids;
  BytePairMerger(vocabulary).Append(piece, ids);
  return ids;
}

// The definition, word by word.
Ids MergeByDefinition(const Vocabulary& vocabulary, const std::string& piece) {
  if (const auto whole = vocabulary.FindRank(piece)) return {*whole};
  std::vector<std::string> parts;
  for (const char c : piece) parts.emplace_back(1, c);
  for (;;) {
    size_t best = parts.size();
    TokenId lowest = 0;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto rank = vocabulary.FindRank(parts[i] + parts[i + 1]);
      if (rank && (best == parts.size() || *rank < lowest)) {
        best = i;
        lowest = *rank;
      }
    }
    if (best == parts.size()) break;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<ptrdiff_t>(best) + 1);
  }
  Ids ids;
  for (const std::string& part : parts) ids.push_back(*vocabulary.FindRank(part));
  return ids;
}

TEST(BytePair, TakesAPieceThatIsARankWhole) {
  // Merging would give "ab" "c": "bc" is no rank and nor is "a" + "bc".
  const Vocabulary v = SmallVocabulary({"ab", "abcd"});
  EXPECT_EQ(Merge(v, "abcd"), Ids{257});
  EXPECT_EQ(Merge(v, "abcdx"), (Ids{256, 'c', 'd', 'x'}));
  EXPECT_EQ(Merge(v, ""), Ids{});
  EXPECT_EQ(Merge(v, "z"), Ids{'z'});
}

TEST(BytePair, JoinsTheLowestRankFirstAndTheLeftmostOfEquals) {
  EXPECT_EQ(Merge(SmallVocabulary({"bc", "ab"}), "abc"), (Ids{'a', 256}));
  EXPECT_EQ(Merge(SmallVocabulary({"ab", "bc"}), "abc"), (Ids{256, 'c'}));
  EXPECT_EQ(Merge(SmallVocabulary({"aa"}), "aaa"), (Ids{256, 'a'}));
  EXPECT_EQ(Merge(SmallVocabulary({"aa", "aaa"}), "aaaaa"), (Ids{256, 257}));
}

TEST(BytePair, EqualsTheDefinitionOnRandomVocabularies) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const auto word = [&](size_t most) {
    std::string text;
    for (size_t i = 1 + random() % most; i > 0; --i) text += static_cast<char>('a' + random() % 3);
    return text;
  };
  for (int round = 0; round < 100; ++round) {
    std::vector<std::string> tokens;
    std::set<std::string> seen = {"a", "b", "c"};
    for (size_t i = random() % 40; i > 0; --i) {
      const std::string token = word(6);
      if (seen.insert(token).second) tokens.push_back(token);
    }
    const Vocabulary v = SmallVocabulary(tokens);
    for (int k = 0; k < 30; ++k) {
      const std::string piece = word(40);
      EXPECT_EQ(Merge(v, piece), MergeByDefinition(v, piece)) << piece;
    }
  }
}

TEST(BytePair, EqualsTheDefinitionOnTheEmbeddedVocabulary) {
  const Vocabulary& v = TinyTokenizer().vocabulary();
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    std::string piece;
    while (piece.size() < 40) piece += v.Bytes(static_cast<TokenId>(random() % v.rank_count()));
    EXPECT_EQ(Merge(v, piece), MergeByDefinition(v, piece));
  }
}

// The definition's own loop takes minutes here.
TEST(BytePair, MergesAVeryLongPiece) {
  const Vocabulary v = SmallVocabulary({"aa", "aaaa", "aaaaaaaa"});
  const Ids ids = Merge(v, std::string(200'001, 'a'));
  ASSERT_EQ(ids.size(), 25'001u);
  EXPECT_EQ(ids.front(), 258u);
  EXPECT_EQ(ids.back(), TokenId{'a'});
}

}  // namespace
}  // namespace penstock::text
