#include "models/text/draft/suffix_automaton.h"

#include <algorithm>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace penstock::text {
namespace {

using Sequence = std::vector<TokenId>;

Sequence Letters(const std::string& text) { return {text.begin(), text.end()}; }

SuffixAutomaton::Match MatchOf(const std::string& text) {
  SuffixAutomaton automaton;
  for (const TokenId id : Letters(text)) automaton.Append(id);
  return automaton.match();
}

// How many of the last ids before `a` and before `b` agree.
size_t Agree(const Sequence& s, size_t a, size_t b) {
  size_t n = 0;
  while (n < std::min(a, b) && s[a - 1 - n] == s[b - 1 - n]) ++n;
  return n;
}

size_t LongestBefore(const Sequence& s, size_t size) {
  size_t longest = 0;
  for (size_t end = 1; end < size; ++end) longest = std::max(longest, Agree(s, end, size));
  return longest;
}

// Texts with every kind of repetition: `kind` of kKinds.
constexpr int kKinds = 6;
Sequence TextOf(int kind, size_t n, std::mt19937_64& random) {
  Sequence s(n);
  for (size_t i = 0; i < n; ++i) {
    switch (kind) {
      case 0:  // One id.
        break;
      case 1:  // Two ids at random.
        s[i] = random() % 2;
        break;
      case 2:  // Hardly any repetition.
        s[i] = static_cast<TokenId>(random());
        break;
      case 3:  // A Fibonacci word, which has the most states.
        s[i] = static_cast<TokenId>((i + 2) * 0.6180339887498949) !=
               static_cast<TokenId>((i + 1) * 0.6180339887498949);
        break;
      case 4:  // A list read over and over, with mistakes.
        s[i] = i < n / 8 || random() % 50 == 0 ? random() % 1000 : s[i - n / 8];
        break;
      case 5:  // a^k b, whose clones are many.
        s[i] = i % (n / 2) == n / 2 - 1;
        break;
    }
  }
  return s;
}

TEST(SuffixAutomaton, FindsTheLongestSuffixThatOccurredBefore) {
  EXPECT_EQ(MatchOf("").length, 0u);
  EXPECT_EQ(MatchOf("a").length, 0u);
  EXPECT_EQ(MatchOf("ab").length, 0u);
  EXPECT_EQ(MatchOf("aa").length, 1u);
  EXPECT_EQ(MatchOf("aaaa").length, 3u);
  EXPECT_EQ(MatchOf("aaaa").end, 3u);
  // "bc" stands in two places, "abc" in one: the longer one counts.
  EXPECT_EQ(MatchOf("abcx.bcy.abc").length, 3u);
  EXPECT_EQ(MatchOf("abcx.bcy.abc").end, 3u);
  // Of equals the later one.
  EXPECT_EQ(MatchOf("abx.aby.ab").length, 3u);  // ".ab"
  EXPECT_EQ(MatchOf("abx.aby.ab").end, 6u);
  EXPECT_EQ(MatchOf("1ab2ab3ab").end, 6u);
  EXPECT_EQ(MatchOf("1ab2ab3ab4ab").end, 9u);
}

TEST(SuffixAutomaton, AgreesWithASearchThroughAllPlaces) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const Sequence s = TextOf(static_cast<int>(seed % kKinds), 2 + random() % 150, random);
    SuffixAutomaton automaton;
    for (size_t size = 1; size <= s.size(); ++size) {
      automaton.Append(s[size - 1]);
      const SuffixAutomaton::Match match = automaton.match();
      ASSERT_EQ(automaton.size(), size);
      ASSERT_EQ(match.length, LongestBefore(s, size));
      if (match.length == 0) continue;
      ASSERT_LT(match.end, size);
      ASSERT_EQ(Agree(s, match.end, size), match.length);
    }
  }
}

// The latest place of the longest suffix is found but where a much longer repetition hides it.
TEST(SuffixAutomaton, NearlyAlwaysFindsTheLatestPlace) {
  size_t places = 0, latest = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    Sequence s(300);
    for (TokenId& id : s) id = random() % 3;
    SuffixAutomaton automaton;
    for (size_t size = 1; size <= s.size(); ++size) {
      automaton.Append(s[size - 1]);
      if (automaton.match().length == 0) continue;
      size_t end = size - 1;
      while (Agree(s, end, size) < automaton.match().length) --end;
      ++places;
      latest += end == automaton.match().end ? 1 : 0;
    }
  }
  EXPECT_GT(latest, places * 99 / 100) << latest << " of " << places;
}

TEST(SuffixAutomaton, CostsAConstantNumberOfOperationsForAnId) {
  for (int kind = 0; kind < kKinds; ++kind) {
    SCOPED_TRACE(kind);
    std::mt19937_64 random(7);
    const Sequence s = TextOf(kind, 40'000, random);
    SuffixAutomaton automaton;
    uint64_t at_quarter = 0;
    for (size_t i = 0; i < s.size(); ++i) {
      automaton.Append(s[i]);
      if (i + 1 == s.size() / 4) at_quarter = automaton.operations();
    }
    EXPECT_LT(automaton.operations(), 40 * s.size());
    // Linear, give or take where the hash table has grown last.
    EXPECT_LT(automaton.operations(), 6 * at_quarter);
    EXPECT_GT(automaton.operations(), s.size());
  }
}

}  // namespace
}  // namespace penstock::text
