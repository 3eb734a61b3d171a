#include "models/k3/bench/positions/texts.h"

#include <set>

#include <gtest/gtest.h>

namespace penstock::k3 {
namespace {

TEST(PositionsTexts, RepeatOrDoNotAsTheirNamesSay) {
  const auto texts = MakeTexts("repeating,random,misleading", 60, 5000);
  ASSERT_TRUE(texts.has_value());
  ASSERT_EQ(texts->size(), 3u);
  for (const ForcedText& text : *texts) {
    EXPECT_EQ(text.prompt.size(), 60u) << text.name;
    EXPECT_EQ(text.ids.size(), 60u) << text.name;
    for (const text::TokenId id : text.ids) EXPECT_LT(id, 5000u) << text.name;
  }
  EXPECT_EQ(texts->at(0).prompt, texts->at(0).ids);
  EXPECT_NE(texts->at(1).prompt, texts->at(1).ids);
  const std::vector<text::TokenId>& few = texts->at(2).ids;
  EXPECT_LE(std::set<text::TokenId>(few.begin(), few.end()).size(), 4u);
  EXPECT_EQ(MakeTexts("random", 60, 5000)->at(0).ids, texts->at(1).ids) << "the same in every run";
}

TEST(PositionsTexts, OthersAreRefused) {
  const auto texts = MakeTexts("repeating,prose", 3, 10);
  ASSERT_FALSE(texts.has_value());
  EXPECT_EQ(texts.error().code, ErrorCode::kRefused);
}

}  // namespace
}  // namespace penstock::k3
