#include "io/queue/device_meter.h"

#include <gtest/gtest.h>

#include "runtime/size.h"

namespace penstock::io {
namespace {

TEST(DeviceMeter, IntegratesBusyFullAndDepthOverTime) {
  DeviceMeter meter("d", Window{8 * kMiB, 77}, 1000);
  meter.Submit(2000, 4 * kMiB);    // Idle until here;
  meter.Submit(5000, 4 * kMiB);    // 3000 ns with half a window,
  meter.Complete(9000, 4 * kMiB);  // 4000 ns with all of it,
  meter.Complete(9500, 4 * kMiB);  // 500 ns with half.
  meter.Submit(20000, 12 * kMiB);
  const DeviceStats stats = meter.At(21000);  // A read in flight counts until now.
  EXPECT_EQ(stats.name, "d");
  EXPECT_EQ(stats.window_bytes, 8 * kMiB);
  EXPECT_EQ(stats.bytes_per_second, 77u);
  EXPECT_EQ(stats.reads, 3u);
  EXPECT_EQ(stats.device_bytes, 20 * kMiB);
  EXPECT_EQ(stats.busy_ns, 3000u + 4000 + 500 + 1000);
  EXPECT_EQ(stats.full_ns, 4000u + 1000);
  EXPECT_EQ(stats.depth_bytes_ns, (3 * 4 + 4 * 8 + 4 / 2 + 12) * 1024u);
  EXPECT_EQ(stats.in_flight_bytes, 12 * kMiB);
  EXPECT_EQ(stats.in_flight_reads, 1u);
  // At changes nothing.
  EXPECT_EQ(meter.At(21000).busy_ns, stats.busy_ns);
}

TEST(DeviceMeter, ADeviceIsFullWhileTheWindowHoldsAReadBack) {
  DeviceMeter meter("d", Window{8 * kMiB}, 0);
  meter.Submit(0, 5 * kMiB);
  meter.Hold(100, true);
  meter.Hold(150, true);
  meter.Hold(300, false);
  meter.Complete(1000, 5 * kMiB);
  meter.Hold(1000, true);  // Held, but nothing is in flight: not the device's time.
  EXPECT_EQ(meter.At(2000).full_ns, 200u);
  EXPECT_EQ(meter.At(2000).busy_ns, 1000u);
}

TEST(DeviceMeter, ATimeOfThePastCountsAsTheLast) {
  DeviceMeter meter("d", Window{kMiB}, 500);
  meter.Submit(400, kMiB);
  meter.Submit(700, kMiB);
  meter.Complete(600, kMiB);
  meter.Complete(800, kMiB);
  EXPECT_EQ(meter.At(0).busy_ns, 300u);
  EXPECT_EQ(meter.At(0).depth_bytes_ns, 300u * 1024 / 1000);
}

TEST(DeviceMeter, CountsLatencyByClassAndAddsToTotals) {
  DeviceMeter meter("d", Window{kMiB}, 0);
  meter.AddLatency(ReadClass::kTrunk, 5000);
  meter.AddLatency(ReadClass::kPredicted, 5000);
  meter.AddLatency(ReadClass::kPredicted, 5000);
  meter.Start(100);
  meter.Submit(0, 4096);
  const DeviceStats stats = meter.At(0);
  EXPECT_EQ(stats.latency[0].total(), 0u);
  EXPECT_EQ(stats.latency[1].total(), 1u);
  EXPECT_EQ(stats.latency[2].total(), 2u);
  ReaderCounters counters{.payload_bytes = 1, .device_bytes = 2, .reads = 3, .retries = 4};
  meter.AddTo(&counters);
  EXPECT_EQ(counters.payload_bytes, 101u);
  EXPECT_EQ(counters.device_bytes, 4098u);
  EXPECT_EQ(counters.reads, 4u);
  EXPECT_EQ(counters.retries, 4u);
}

TEST(DeviceMeter, ALongRunDoesNotOverflow) {
  constexpr uint64_t kHour = 3600ull * 1'000'000'000;
  DeviceMeter meter("d", Window{kMiB}, 0);
  meter.Submit(0, kGiB);
  EXPECT_EQ(meter.At(100 * kHour).depth_bytes_ns, kGiB / 1024 * (100 * kHour / 1000));
}

}  // namespace
}  // namespace penstock::io
