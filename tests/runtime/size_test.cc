#include "runtime/size.h"

#include <cstdint>
#include <random>

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(ParseSize, ReadsEveryUnit) {
  EXPECT_EQ(ParseSize("0")->bytes, 0u);
  EXPECT_EQ(ParseSize("4097")->bytes, 4097u);
  EXPECT_EQ(ParseSize("512B")->bytes, 512u);
  EXPECT_EQ(ParseSize("4k")->bytes, 4096u);
  EXPECT_EQ(ParseSize("4K")->bytes, 4096u);
  EXPECT_EQ(ParseSize("8M")->bytes, 8u << 20);
  EXPECT_EQ(ParseSize("8MiB")->bytes, 8u << 20);
  EXPECT_EQ(ParseSize("8MB")->bytes, 8u << 20);
  EXPECT_EQ(ParseSize("1.5G")->bytes, 3u << 29);
  EXPECT_EQ(ParseSize("2T")->bytes, uint64_t{2} << 40);
  EXPECT_EQ(ParseSize("0.3k")->bytes, 307u);  // 307.2 rounds down.
}

TEST(ParseSize, RefusesWhatIsNoSize) {
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "1 k", "k", ".5k", "5.k", "1kk", "1X",
                           "0x10", "1e9", "8Mi", "1.0000000001k", "nan", "9223372036854775808",
                           "8388608T", "99999999999999999999999999999T"}) {
    const auto size = ParseSize(text);
    ASSERT_FALSE(size) << text;
    EXPECT_EQ(size.error().code, ErrorCode::kRefused);
  }
  EXPECT_EQ(ParseSize("9223372036854775807")->bytes, uint64_t{INT64_MAX});
}

TEST(FormatSize, ReadsBack) {
  EXPECT_EQ(FormatSize(ByteSize{8 << 20}), "8M");
  EXPECT_EQ(FormatSize(ByteSize{1536 << 10}), "1536k");
  EXPECT_EQ(FormatSize(ByteSize{4097}), "4097");
  const uint64_t seed = std::random_device{}();
  std::mt19937_64 random(seed);
  for (int i = 0; i < 1000; ++i) {
    const ByteSize size{random() >> (1 + random() % 63) << (random() % 20) & INT64_MAX};
    ASSERT_EQ(*ParseSize(FormatSize(size)), size) << "seed " << seed;
  }
}

TEST(DescribeSize, HasThreeDigits) {
  EXPECT_EQ(DescribeSize(0), "0 B");
  EXPECT_EQ(DescribeSize(999), "999 B");
  EXPECT_EQ(DescribeSize(1023), "1.00 KiB");
  EXPECT_EQ(DescribeSize(1567350341), "1.46 GiB");
  EXPECT_EQ(DescribeSize(uint64_t{15} << 20), "15.0 MiB");
  EXPECT_EQ(DescribeSize(uint64_t{150} << 40), "150 TiB");
}

TEST(ParseDuration, ReadsEveryUnit) {
  EXPECT_EQ(ParseDuration("0")->ns, 0u);
  EXPECT_EQ(ParseDuration("250ns")->ns, 250u);
  EXPECT_EQ(ParseDuration("100us")->ns, 100'000u);
  EXPECT_EQ(ParseDuration("1.5ms")->ns, 1'500'000u);
  EXPECT_EQ(ParseDuration("2s")->ns, 2'000'000'000u);
  EXPECT_EQ(ParseDuration("1m")->ns, 60'000'000'000u);
  EXPECT_EQ(FormatDuration(*ParseDuration("1.5ms")), "1500us");
}

TEST(ParseDuration, RefusesWhatIsNone) {
  for (const char* text : {"", "5", "-5ms", "5 ms", "5MS", "5h", "ms", "999999999999s"}) {
    EXPECT_FALSE(ParseDuration(text)) << text;
  }
}

}  // namespace
}  // namespace penstock
