#include "models/text/draft/drafting.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "models/text/draft/ngram_drafter.h"
#include "runtime/options/options.h"

namespace penstock::text {
namespace {

TEST(Drafting, ReadsItsOptions) {
  DraftOptions options;
  OptionSet set;
  set.Add("draft", options);
  EXPECT_TRUE(set.Find("draft-max")->assign("6"));
  EXPECT_TRUE(set.Find("draft-min-match")->assign("3"));
  EXPECT_EQ(options.draft_max, 6u);
  EXPECT_EQ(options.draft_min_match, 3u);
  EXPECT_FALSE(set.Find("draft-min-match")->assign("0"));
  for (const char* bad : {"", "x", "-1", "1x", "1.5", "Auto", "99999999999999999999"}) {
    EXPECT_FALSE(set.Find("draft-max")->assign(bad)) << bad;
  }
  EXPECT_TRUE(set.Find("draft-max")->assign("auto"));
  EXPECT_EQ(options.draft_max, std::nullopt);
}

TEST(Drafting, IsAsLongAsAskedOrAsAStepTakes) {
  EXPECT_FALSE(CreateDrafting({.draft_max = 0}, 8));
  EXPECT_FALSE(CreateDrafting({}, 1));
  EXPECT_FALSE(CreateDrafting({.draft_max = 4}, 1));
  EXPECT_EQ(CreateDrafting({.draft_max = 4}, 8)->economics.Length(), 4u);
  EXPECT_EQ(CreateDrafting({.draft_max = 100}, 8)->economics.Length(), 7u);
  // By itself it measures first.
  EXPECT_EQ(CreateDrafting({}, 8)->economics.Length(), 0u);
  auto drafting = CreateDrafting({.draft_max = 4, .draft_min_match = 2}, 8);
  const std::vector<TokenId> ids = {1, 2, 3, 4, 1};
  drafting->drafter->Append(ids);
  EXPECT_TRUE(drafting->drafter->Draft(4).empty());
  drafting->drafter->Append(std::span(&ids[1], 1));
  EXPECT_EQ(drafting->drafter->Draft(4).size(), 4u);
}

// Ids a step's time of one position, when `text` is what comes out behind its first `prompt` ids
// and each further position takes `more` of that time.
double SpeedOf(const std::vector<TokenId>& text, size_t prompt, double more) {
  constexpr double kStepNs = 1e9;
  Drafting drafting = *CreateDrafting({}, 8);
  drafting.drafter->Append(std::span(text).first(prompt));
  double ns = 0;
  for (size_t at = prompt; at < text.size();) {
    const auto draft =
        drafting.drafter->Draft(std::min(drafting.economics.Length(), text.size() - at - 1));
    const auto right = static_cast<size_t>(
        std::mismatch(draft.begin(), draft.end(), text.begin() + static_cast<ptrdiff_t>(at)).first -
        draft.begin());
    const double step_ns = kStepNs * (1 + more * static_cast<double>(draft.size()));
    ns += step_ns;
    drafting.economics.Record(draft.size(), right, static_cast<uint64_t>(step_ns));
    drafting.drafter->Append(std::span(text).subspan(at, right + 1));
    at += right + 1;
  }
  return static_cast<double>(text.size() - prompt) * kStepNs / ns;
}

TEST(Drafting, PaysOnAListReadTwiceAndCostsLittleWhereNothingRepeats) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    std::vector<TokenId> list(200), noise(2000), narrow(2000);
    for (TokenId& id : list) id = random() % 8192;
    for (TokenId& id : noise) id = random() % 8192;
    for (TokenId& id : narrow) id = random() % 40;
    const std::vector<TokenId> once = list;
    list.insert(list.end(), once.begin(), once.end());
    for (const double more : {0.05, 0.15, 0.3}) {
      SCOPED_TRACE(more);
      // The best there is: 8 ids in the time of 1 + 7 x more steps.
      EXPECT_GT(SpeedOf(list, 210, more), 0.8 * 8 / (1 + 7 * more));
      EXPECT_GT(SpeedOf(noise, 20, more), 0.99);
      EXPECT_GT(SpeedOf(narrow, 20, more), 0.97);
    }
  }
}

}  // namespace
}  // namespace penstock::text
