#include "io/queue/measure/sequential_reads.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "io/device_stats.h"
#include "tests/io/random_file.h"

namespace penstock::io {
namespace {

TEST(SequentialReads, ReadsARangeAndBeginsAgainBehindTheLastWholeExtent) {
  constexpr uint64_t kExtent = SequentialReads::kExtentBytes;
  const RandomFile file(2 * kExtent + 4096, 1);
  IoOptions options;
  options.ioengine = "memory";
  options.bs.bytes = 64 * kMiB;
  auto reads = SequentialReads::Make(options, std::vector{file.path()}, {});
  ASSERT_TRUE(reads);
  std::vector<uint64_t> bytes;
  (*reads)->reader().Observe([&](const ReadSpan& span) { bytes.push_back(span.bytes); });
  const auto cost = (*reads)->Run(0, kExtent + 5, 3 * kExtent);
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->bytes, 3 * kExtent);
  EXPECT_GT(cost->wall_ns, 0u);
  EXPECT_GT(cost->cpu_ns, 0u);
  EXPECT_EQ(bytes, (std::vector<uint64_t>(3, kExtent)));
  EXPECT_EQ((*reads)->reader().counters().device_bytes, 3 * kExtent);
  // Not less than one extent.
  const auto least = (*reads)->Run(0, 0, 1);
  ASSERT_TRUE(least);
  EXPECT_EQ(least->bytes, kExtent);
}

TEST(SequentialReads, RefusesWhatTheReaderRefuses) {
  const RandomFile file(4096, 1);
  IoOptions options;
  options.bs.bytes = 5000;
  EXPECT_FALSE(SequentialReads::Make(options, std::vector{file.path()}, {}));
  EXPECT_FALSE(SequentialReads::Make({}, std::vector<std::string>{"/nowhere"}, {}));
}

TEST(FaultSequentialReads, ARunFailsWithItsReadsAndTheNextIsAsNew) {
  const RandomFile file(SequentialReads::kExtentBytes, 1);
  IoOptions options;
  options.ioengine = "memory";
  options.fault = "eio@2";
  options.bs.bytes = SequentialReads::kExtentBytes;
  auto reads = SequentialReads::Make(options, std::vector{file.path()}, {});
  ASSERT_TRUE(reads);
  EXPECT_FALSE((*reads)->Run(0, 0, 3 * SequentialReads::kExtentBytes));
  EXPECT_TRUE((*reads)->Run(0, 0, 3 * SequentialReads::kExtentBytes));
}

}  // namespace
}  // namespace penstock::io
