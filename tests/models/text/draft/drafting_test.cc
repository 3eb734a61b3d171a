#include "models/text/draft/drafting.h"

#include <gtest/gtest.h>

#include "runtime/options/options.h"

namespace penstock::text {
namespace {

TEST(Drafting, ReadsItsOptions) {
  DraftOptions options;
  OptionSet set;
  set.Add("draft", options);
  EXPECT_TRUE(set.Find("draft-max")->assign("6"));
  EXPECT_TRUE(set.Find("draft-min-match")->assign("3"));
  EXPECT_EQ(options.draft_max, "6");
  EXPECT_EQ(options.draft_min_match, 3u);
  EXPECT_FALSE(set.Find("draft-min-match")->assign("0"));
  EXPECT_EQ(DraftOptions{}.draft_max, "auto");
  EXPECT_EQ(*ParseDraftMax("auto"), std::nullopt);
  EXPECT_EQ(*ParseDraftMax("0"), 0u);
  EXPECT_EQ(*ParseDraftMax("17"), 17u);
  for (const char* bad : {"", "x", "-1", "1x", "1.5", "Auto", "99999999999999999999"}) {
    const auto read = ParseDraftMax(bad);
    ASSERT_FALSE(read) << bad;
    EXPECT_EQ(read.error().code, ErrorCode::kRefused);
    EXPECT_FALSE(CreateDrafting({.draft_max = bad}, 8));
  }
  EXPECT_FALSE(CreateDrafting({.draft_min_match = 0}, 8));
}

TEST(Drafting, IsAsLongAsAskedOrAsAStepTakes) {
  EXPECT_FALSE(CreateDrafting({.draft_max = "0"}, 8)->has_value());
  EXPECT_FALSE(CreateDrafting({}, 1)->has_value());
  EXPECT_FALSE(CreateDrafting({.draft_max = "4"}, 1)->has_value());
  EXPECT_EQ((*CreateDrafting({.draft_max = "4"}, 8))->economics.Length(), 4u);
  EXPECT_EQ((*CreateDrafting({.draft_max = "100"}, 8))->economics.Length(), 7u);
  // By itself it measures first.
  EXPECT_EQ((*CreateDrafting({}, 8))->economics.Length(), 0u);
  auto drafting = *CreateDrafting({.draft_max = "4", .draft_min_match = 2}, 8);
  const std::vector<TokenId> ids = {1, 2, 3, 4, 1};
  drafting->drafter->Append(ids);
  EXPECT_TRUE(drafting->drafter->Draft(4).empty());
  drafting->drafter->Append(std::span(&ids[1], 1));
  EXPECT_EQ(drafting->drafter->Draft(4).size(), 4u);
}

TEST(Drafting, NoDrafterNeverGuesses) {
  NoDrafter none;
  const std::vector<TokenId> ids = {1, 1, 1, 1};
  none.Append(ids);
  EXPECT_TRUE(none.Draft(5).empty());
}

}  // namespace
}  // namespace penstock::text
