#include "io/queue/measure/demand_latency.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace penstock::io {
namespace {

DemandOptions Few() {
  DemandOptions options;
  options.pace = "4G";
  options.demands = 5;
  return options;
}

TEST(DemandLatency, MeasuresDemandedReadsBehindABusyTrunk) {
  const auto latency = MeasureDemandLatency(Few());
  ASSERT_TRUE(latency);
  EXPECT_EQ(latency->window_bytes, 12 * kMiB);
  EXPECT_EQ(latency->bytes_per_second, 4 * kGiB);
  EXPECT_NEAR(latency->bound_ns, (12.0 * kMiB + 17'547'264) / 4 / kGiB * 1e9, 1);
  ASSERT_EQ(latency->ns.size(), 5u);
  EXPECT_TRUE(std::is_sorted(latency->ns.begin(), latency->ns.end()));
  // Never faster than the device moves its bytes.
  EXPECT_GE(static_cast<double>(latency->ns.front()), 17'547'264.0 / 4 / kGiB * 1e9);
  EXPECT_GT(latency->device_share, 0);
}

TEST(DemandLatency, PercentilesAreOfTheSortedTimes) {
  DemandLatency latency;
  for (uint64_t i = 1; i <= 200; ++i) latency.ns.push_back(i);
  EXPECT_EQ(latency.PercentileNs(0.5), 100);
  EXPECT_EQ(latency.PercentileNs(0.99), 198);
  EXPECT_EQ(latency.PercentileNs(1), 200);
  EXPECT_EQ(latency.PercentileNs(0.0001), 1);
}

TEST(DemandLatency, EndsWhenToldAndRefusesWhatMakesNoSense) {
  DemandOptions options = Few();
  options.go_on = [](uint64_t done, uint64_t total) { return done < 2 && total == 5; };
  EXPECT_EQ(MeasureDemandLatency(options).error().code, ErrorCode::kCancelled);
  options = Few();
  options.pace = "";
  EXPECT_FALSE(MeasureDemandLatency(options));
  options.pace = "fast";
  EXPECT_FALSE(MeasureDemandLatency(options));
  options = Few();
  options.demanded_bytes = 0;
  EXPECT_FALSE(MeasureDemandLatency(options));
  options.demanded_bytes = 40 * kMiB;
  EXPECT_FALSE(MeasureDemandLatency(options));
  options = Few();
  options.demands = 0;
  EXPECT_FALSE(MeasureDemandLatency(options));
}

}  // namespace
}  // namespace penstock::io
