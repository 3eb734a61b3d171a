#include "runtime/options/list.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

using Parts = std::vector<std::string>;

TEST(SplitAtCommas, KeepsEveryPartAlsoAnEmptyOne) {
  EXPECT_EQ(SplitAtCommas("a,bc"), (Parts{"a", "bc"}));
  EXPECT_EQ(SplitAtCommas("a"), Parts{"a"});
  EXPECT_EQ(SplitAtCommas(""), Parts{""});
  EXPECT_EQ(SplitAtCommas("a,"), (Parts{"a", ""}));
  EXPECT_EQ(SplitAtCommas(",,"), (Parts{"", "", ""}));
}

}  // namespace
}  // namespace penstock
