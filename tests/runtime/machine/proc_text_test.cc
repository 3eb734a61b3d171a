#include "runtime/machine/proc_text.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

constexpr std::string_view kStatus =
    "Name:\tx\nVmRSSX:\t7 kB\nVmRSS:\t  1234 kB\nmodel name\t: A  B\nlast 9";

TEST(ProcText, FindsFields) {
  EXPECT_EQ(NumberAfter(kStatus, "VmRSS:"), 1234u);
  EXPECT_EQ(NumberAfter(kStatus, "last"), 9u);
  EXPECT_EQ(NumberAfter(kStatus, "Name:"), std::nullopt);
  EXPECT_EQ(NumberAfter(kStatus, "absent"), std::nullopt);
  EXPECT_EQ(NumberAfter("", "absent"), std::nullopt);
  EXPECT_EQ(TextAfter(kStatus, "model name"), "A  B");
  EXPECT_EQ(TextAfter(kStatus, "model"), "name\t: A  B");
  EXPECT_EQ(TextAfter(kStatus, "absent"), "");
}

TEST(ProcText, ReadsNumbers) {
  EXPECT_EQ(FirstNumber("  12 kB"), 12u);
  EXPECT_EQ(FirstNumber("max"), std::nullopt);
  EXPECT_EQ(FirstNumber("-1"), std::nullopt);
  EXPECT_EQ(FirstNumber(""), std::nullopt);
  EXPECT_EQ(FirstNumber("99999999999999999999"), std::nullopt);
  EXPECT_EQ(Trim(" a b\n"), "a b");
  EXPECT_EQ(Trim(" \n"), "");
}

}  // namespace
}  // namespace penstock
