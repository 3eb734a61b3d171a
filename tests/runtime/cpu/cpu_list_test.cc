#include "runtime/cpu/cpu_list.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(CpuList, ReadsAndPrints) {
  EXPECT_EQ(ParseCpuList("0")->cpus, (std::vector<unsigned>{0}));
  EXPECT_EQ(ParseCpuList("0,2-3")->cpus, (std::vector<unsigned>{0, 2, 3}));
  EXPECT_EQ(ParseCpuList("7,2-4,3,0")->cpus, (std::vector<unsigned>{0, 2, 3, 4, 7}));
  EXPECT_EQ(FormatCpuList(*ParseCpuList("7,2-4,3,0,1,6")), "0-4,6-7");
  EXPECT_EQ(FormatCpuList({}), "");
}

TEST(CpuList, RefusesJunk) {
  for (const char* text : {"", ",", "0,", ",0", "3-2", "-1", "0-", "a", "0-8192", "99999999999",
                           "0 1", "0-1-2", "+1", "0x1"}) {
    EXPECT_FALSE(ParseCpuList(text)) << text;
  }
}

TEST(CpuList, RepeatedRangesDoNotGrow) {
  std::string text = "0-8191";
  for (int i = 0; i < 2000; ++i) text += ",0-8191";
  EXPECT_EQ(ParseCpuList(text)->size(), 8192u);
}

TEST(CpuSet, KnowsItsMembers) {
  const CpuSet set = *ParseCpuList("1,4-5");
  EXPECT_TRUE(set.Contains(4));
  EXPECT_FALSE(set.Contains(2));
  EXPECT_TRUE(set.ContainsAll(*ParseCpuList("1,5")));
  EXPECT_FALSE(set.ContainsAll(*ParseCpuList("1-5")));
}

}  // namespace
}  // namespace penstock
