#include "io/pack/sum/sum.h"

#include <algorithm>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>
#include <xxhash.h>

namespace penstock::io {
namespace {

TEST(PackSum, IsXxh3OfEveryLengthByEveryInstructionSet) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(100'003);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  for (size_t n = 0; n <= bytes.size(); n = n < 2100 ? n + 1 : n + 7919) {
    const std::byte* const at = bytes.data() + (n == bytes.size() ? 0 : n % 3);
    const uint64_t expected = XXH3_64bits(at, n);
    ASSERT_EQ(SumOf({at, n}), expected) << n;
    if (SumByAvx2() != nullptr) {
      ASSERT_EQ(SumByAvx2()(at, n), expected) << n;
    }
    if (SumByAvx512() != nullptr) {
      ASSERT_EQ(SumByAvx512()(at, n), expected) << n;
    }
  }
}

TEST(PackSum, InPiecesIsTheSumOfTheWhole) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(5000);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  RunningSum sum;
  EXPECT_EQ(sum.value(), SumOf({}));
  for (size_t at = 0; at < bytes.size();) {
    const size_t piece = std::min<size_t>(random() % 700, bytes.size() - at);
    sum.Add(std::span(bytes).subspan(at, piece));
    at += piece;
    ASSERT_EQ(sum.value(), SumOf(std::span(bytes).first(at))) << at;
  }
}

}  // namespace
}  // namespace penstock::io
