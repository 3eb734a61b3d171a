#include "models/text/draft/ngram_drafter.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

namespace penstock::text {
namespace {

std::string DraftAfter(const std::string& text, size_t n, size_t min_match = 1) {
  NgramDrafter drafter(min_match);
  drafter.Append(std::vector<TokenId>(text.begin(), text.end()));
  const std::span<const TokenId> draft = drafter.Draft(n);
  return {draft.begin(), draft.end()};
}

TEST(NgramDrafter, ProposesWhatFollowedTheLongestMatch) {
  EXPECT_EQ(DraftAfter("", 4), "");
  EXPECT_EQ(DraftAfter("abcd", 4), "");
  EXPECT_EQ(DraftAfter("abcdXab", 4), "cdXa");
  EXPECT_EQ(DraftAfter("abcdXab", 1), "c");
  EXPECT_EQ(DraftAfter("abcdXab", 0), "");
  // A later place of a shorter match does not count.
  EXPECT_EQ(DraftAfter("-abcd*bc!-abc", 3), "d*b");
  // Of two equally long ones the later place does.
  EXPECT_EQ(DraftAfter("1abc2abd3ab", 1), "d");
}

TEST(NgramDrafter, GoesOnWithAPeriodBeyondTheEnd) {
  EXPECT_EQ(DraftAfter("aa", 5), "aaaaa");
  EXPECT_EQ(DraftAfter("abcabc", 8), "abcabcab");
  EXPECT_EQ(DraftAfter("xyxyx", 4), "yxyx");
}

TEST(NgramDrafter, DraftsNothingFromShorterMatchesThanAsked) {
  EXPECT_EQ(DraftAfter("abcdXab", 2, 2), "cd");
  EXPECT_EQ(DraftAfter("abcdXab", 2, 3), "");
  EXPECT_EQ(DraftAfter("abcdXabc", 2, 3), "dX");
}

TEST(NgramDrafter, IsRightThroughTheSecondReadingOfAList) {
  std::mt19937_64 random(3);
  std::vector<TokenId> list(500);
  for (TokenId& id : list) id = random() % 200;
  NgramDrafter drafter(2);
  drafter.Append(list);
  size_t wrong = 0;
  for (size_t at = 0; at < list.size(); ++at) {
    const std::span<const TokenId> draft = drafter.Draft(4);
    // Single ids repeat by chance, so the first few places of the list may be missed.
    for (size_t k = 0; k < draft.size() && at + k < list.size(); ++k) {
      wrong += draft[k] != list[at + k] ? 1 : 0;
    }
    if (at >= 5) {
      EXPECT_EQ(draft.size(), 4u) << at;
    }
    drafter.Append(std::span(&list[at], 1));
  }
  EXPECT_LE(wrong, 12u);
}

TEST(NgramDrafter, DoesNotDependOnHowItWasTold) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    std::vector<TokenId> ids(200);
    for (TokenId& id : ids) id = random() % 4;
    NgramDrafter whole(2), parts(2);
    whole.Append(ids);
    for (std::span<const TokenId> rest = ids; !rest.empty();) {
      const size_t n = std::min<size_t>(rest.size(), random() % 7);
      parts.Append(rest.first(n));
      parts.Draft(random() % 5);
      rest = rest.subspan(n);
    }
    const auto a = whole.Draft(50), b = parts.Draft(50);
    EXPECT_EQ(std::vector<TokenId>(a.begin(), a.end()), std::vector<TokenId>(b.begin(), b.end()));
    EXPECT_EQ(whole.index().operations(), parts.index().operations());
  }
}

}  // namespace
}  // namespace penstock::text
