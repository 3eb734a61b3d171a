#include "runtime/measure/streams.h"

#include <vector>

#include <gtest/gtest.h>

namespace penstock {
namespace {

// Powers of two in distinct places would not fit a float: small integers, which sum exactly.
TEST(Streams, EveryValueOfWholeLinesIsSummedOnce) {
  std::vector<float> values(8 * 16 * 5);
  double total = 0;
  for (size_t i = 0; i < values.size(); ++i) total += values[i] = static_cast<float>(i % 97);
  for (int streams : {1, 4, 8}) EXPECT_EQ(SumStreams(values, streams), total) << streams;
  EXPECT_EQ(SumStreams({}, 8), 0);
}

}  // namespace
}  // namespace penstock
