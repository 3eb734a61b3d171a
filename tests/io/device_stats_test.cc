#include "io/device_stats.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace penstock::io {
namespace {

constexpr uint64_t kUs = 1000;

TEST(LatencyHistogram, BucketsGrowByAQuarterOfAPowerOfTwo) {
  LatencyHistogram times;
  times.Add(0);
  times.Add(2 * kUs - 1);   // Below 2^(4/4): bucket 3.
  times.Add(2 * kUs);       // Not below it: bucket 4.
  times.Add(1024 * kUs);    // 2^10 is the edge of bucket 39.
  times.Add(~uint64_t{0});  // Longer than every edge.
  EXPECT_EQ(times.counts[0], 1u);
  EXPECT_EQ(times.counts[3], 1u);
  EXPECT_EQ(times.counts[4], 1u);
  EXPECT_EQ(times.counts[39], 0u);
  EXPECT_EQ(times.counts[40], 1u);
  EXPECT_EQ(times.counts[LatencyHistogram::kBuckets - 1], 1u);
  EXPECT_EQ(times.total(), 5u);
}

TEST(LatencyHistogram, PercentilesAreUpperEdges) {
  LatencyHistogram times;
  EXPECT_EQ(times.Percentile(0.5), 0u);
  for (int i = 0; i < 99; ++i) times.Add(3 * kUs);
  times.Add(1000 * kUs);
  EXPECT_EQ(times.Percentile(0.01), 3363u);  // 2^(7/4) us, the first edge above 3.
  EXPECT_EQ(times.Percentile(0.5), 3363u);
  EXPECT_EQ(times.Percentile(0.99), 3363u);
  EXPECT_EQ(times.Percentile(0.991), 1024 * kUs);
  EXPECT_EQ(times.Percentile(1), 1024 * kUs);
}

TEST(LatencyHistogram, APercentileIsAboveTheExactOneByLessThanABucket) {
  SCOPED_TRACE("seed 5");
  std::mt19937_64 random(5);
  std::lognormal_distribution<double> draw(8, 2);
  LatencyHistogram times;
  std::vector<uint64_t> exact;
  for (int i = 0; i < 2000; ++i) {
    exact.push_back(kUs + static_cast<uint64_t>(1000 * draw(random)));
    times.Add(exact.back());
  }
  std::sort(exact.begin(), exact.end());
  for (const double q : {0.1, 0.5, 0.9, 0.99, 1.0}) {
    const uint64_t wanted = exact[static_cast<size_t>(q * 2000 + 0.5) - 1];
    EXPECT_GT(times.Percentile(q), wanted);
    EXPECT_LE(static_cast<double>(times.Percentile(q)), static_cast<double>(wanted) * 1.19);
  }
}

TEST(DeviceStats, TheDifferenceOfTwoIsWhatHappenedInBetween) {
  DeviceStats before;
  before.name = "d";
  before.window_bytes = 7;
  before.payload_bytes = 10;
  before.device_bytes = 11;
  before.reads = 2;
  before.busy_ns = 100;
  before.full_ns = 50;
  before.depth_bytes_ns = 4;
  before.in_flight_bytes = 1;
  before.latency[1].Add(kUs);
  DeviceStats after = before;
  after.payload_bytes += 20;
  after.device_bytes += 21;
  after.reads += 3;
  after.busy_ns += 200;
  after.full_ns += 150;
  after.depth_bytes_ns += 1000;
  after.in_flight_bytes = 9;
  after.in_flight_reads = 3;
  after.latency[1].Add(100 * kUs);
  after.latency[2].Add(kUs);
  const DeviceStats step = after.Since(before);
  EXPECT_EQ(step.name, "d");
  EXPECT_EQ(step.window_bytes, 7u);
  EXPECT_EQ(step.payload_bytes, 20u);
  EXPECT_EQ(step.device_bytes, 21u);
  EXPECT_EQ(step.reads, 3u);
  EXPECT_EQ(step.busy_ns, 200u);
  EXPECT_EQ(step.full_ns, 150u);
  EXPECT_EQ(step.in_flight_bytes, 9u);
  EXPECT_EQ(step.in_flight_reads, 3u);
  EXPECT_EQ(step.latency[0].total(), 0u);
  EXPECT_EQ(step.latency[1].total(), 1u);
  EXPECT_GT(step.latency[1].Percentile(1), 100 * kUs);
  EXPECT_EQ(step.latency[2].total(), 1u);
  EXPECT_EQ(step.MeanDepthBytes(0), 0);
  // 1000 KiB for a microsecond, over two.
  EXPECT_DOUBLE_EQ(step.MeanDepthBytes(2 * kUs), 500 * 1024);
}

}  // namespace
}  // namespace penstock::io
