#include "runtime/options/nearest.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(EditDistance, CountsEdits) {
  EXPECT_EQ(EditDistance("", ""), 0u);
  EXPECT_EQ(EditDistance("", "abc"), 3u);
  EXPECT_EQ(EditDistance("iodepth", "iodepth"), 0u);
  EXPECT_EQ(EditDistance("iodpeth", "iodepth"), 1u);  // A swap is one.
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
  EXPECT_EQ(EditDistance(std::string(100'000, 'a'), "a"), 100'000u);  // At once.
}

TEST(Nearest, TakesTheClosestAndNothingAbsurd) {
  const std::vector<std::string> names = {"--ring", "--depth", "--iodepth", "--ioengine"};
  EXPECT_EQ(Nearest("--iodpeth", names), "--iodepth");
  EXPECT_EQ(Nearest("--dept", names), "--depth");
  EXPECT_EQ(Nearest("--completely-different", names), "");
  EXPECT_EQ(Nearest("--ring", {}), "");
}

}  // namespace
}  // namespace penstock
