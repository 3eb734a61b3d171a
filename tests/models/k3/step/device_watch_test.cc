#include "models/k3/step/device_watch.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace penstock::k3 {
namespace {

io::ReadSpan Read(uint64_t queued, uint64_t submitted, uint64_t completed, uint64_t left,
                  uint32_t device = 0) {
  io::ReadSpan read;
  read.device = device;
  read.queued_ns = queued;
  read.submitted_ns = submitted;
  read.completed_ns = completed;
  read.in_flight_bytes = left;
  return read;
}

struct Taken {
  std::vector<std::pair<uint64_t, uint64_t>> reading, asked;
  SlowRead slowest;
};

Taken Take(DeviceWatch& watch, uint64_t begin, uint64_t now, std::vector<uint64_t> busy = {}) {
  std::vector<TimeSpan> reading, asked;
  Taken taken;
  taken.slowest = watch.Take(begin, now, busy, &reading, &asked);
  const auto pairs = [](const auto& spans) {
    std::vector<std::pair<uint64_t, uint64_t>> result;
    for (const TimeSpan& span : spans) {
      if (span.end_ns > span.begin_ns) result.emplace_back(span.begin_ns, span.end_ns);
    }
    return result;
  };
  taken.reading = pairs(reading);
  taken.asked = pairs(asked);
  return taken;
}

using Spans = std::vector<std::pair<uint64_t, uint64_t>>;

TEST(DeviceWatch, ReadsThatOverlapAreOneTime) {
  DeviceWatch watch;
  watch.Reset(1);
  watch.Observe(Read(8, 10, 20, 100));
  watch.Observe(Read(8, 9, 30, 100));  // Submitted first, completed second.
  watch.Observe(Read(12, 25, 40, 0));
  watch.Observe(Read(55, 60, 70, 0));
  const Taken taken = Take(watch, 0, 100);
  EXPECT_EQ(taken.reading, (Spans{{9, 40}, {60, 70}}));
  EXPECT_EQ(taken.asked, (Spans{{8, 10}, {55, 60}}));
  EXPECT_EQ(taken.slowest.ns, 21u);
  EXPECT_TRUE(Take(watch, 100, 200).reading.empty());
}

TEST(DeviceWatch, WhatIsInFlightAtTheEndGoesOn) {
  DeviceWatch watch;
  watch.Reset(1);
  watch.Observe(Read(10, 10, 20, 100));
  EXPECT_EQ(Take(watch, 0, 50).reading, (Spans{{10, 50}}));
  watch.Observe(Read(15, 15, 70, 0));
  EXPECT_EQ(Take(watch, 50, 90).reading, (Spans{{50, 70}}));
}

// Submitted before the end to a device that had nothing, and not complete: only the device's own
// account knows of it.
TEST(DeviceWatch, TheDevicesAccountTellsOfAReadThatIsStillInFlight) {
  DeviceWatch watch;
  watch.Reset(1);
  watch.Observe(Read(10, 10, 20, 0));
  EXPECT_EQ(Take(watch, 0, 50, {17}).reading, (Spans{{10, 20}, {43, 50}}));
  watch.Observe(Read(42, 43, 60, 0));
  EXPECT_EQ(Take(watch, 50, 90, {10}).reading, (Spans{{50, 60}}));
}

TEST(DeviceWatch, DevicesAreApart) {
  DeviceWatch watch;
  watch.Reset(2);
  watch.Observe(Read(1, 1, 5, 0, 0));
  watch.Observe(Read(2, 2, 9, 0, 1));
  watch.Observe(Read(2, 2, 9, 0, 2));  // Of a device that nobody told of.
  const Taken taken = Take(watch, 0, 10);
  EXPECT_EQ(taken.reading, (Spans{{1, 5}, {2, 9}}));
  EXPECT_EQ(taken.slowest.device, 1u);
}

// Random reads against the union of their times.
TEST(DeviceWatch, RandomReadsGiveTheUnionOfTheirTimes) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    std::vector<io::ReadSpan> reads(30);
    for (io::ReadSpan& read : reads) {
      const uint64_t at = random() % 2000;
      read = Read(at, at, at + 1 + random() % 100, 0);
    }
    std::sort(reads.begin(), reads.end(),
              [](const auto& a, const auto& b) { return a.completed_ns < b.completed_ns; });
    DeviceWatch watch;
    watch.Reset(1);
    const uint64_t middle = 1000;
    std::vector<bool> expected(3000), got(3000);
    const auto busy_in = [&](uint64_t begin, uint64_t end) {
      return static_cast<uint64_t>(std::count(expected.begin() + static_cast<ptrdiff_t>(begin),
                                              expected.begin() + static_cast<ptrdiff_t>(end),
                                              true));
    };
    for (const io::ReadSpan& read : reads) {
      std::fill(expected.begin() + static_cast<ptrdiff_t>(read.submitted_ns),
                expected.begin() + static_cast<ptrdiff_t>(read.completed_ns), true);
    }
    const auto mark = [&](const Taken& taken) {
      for (const auto& [begin, end] : taken.reading) {
        std::fill(got.begin() + static_cast<ptrdiff_t>(begin),
                  got.begin() + static_cast<ptrdiff_t>(end), true);
      }
    };
    bool taken = false;
    for (size_t i = 0; i < reads.size(); ++i) {
      if (!taken && reads[i].completed_ns > middle) {
        mark(Take(watch, 0, middle, {busy_in(0, middle)}));
        taken = true;
      }
      for (size_t k = i + 1; k < reads.size(); ++k) {
        reads[i].in_flight_bytes += reads[k].submitted_ns < reads[i].completed_ns ? 1 : 0;
      }
      watch.Observe(reads[i]);
    }
    mark(Take(watch, taken ? middle : 0, 2999, {busy_in(taken ? middle : 0, 2999)}));
    ASSERT_EQ(got, expected) << round;
  }
}

TEST(DeviceWatch, TheSlowestReadIsOneOfTheStep) {
  DeviceWatch watch;
  watch.Reset(1);
  watch.Observe(Read(5, 10, 900, 0));  // Before the step.
  watch.Begin(1000);
  watch.Observe(Read(5, 20, 1100, 0));  // Of it, as far as it lies in it.
  EXPECT_EQ(Take(watch, 1000, 2000).slowest.ns, 100u);
  watch.Begin(2000);
  EXPECT_EQ(Take(watch, 2000, 3000).slowest.ns, 0u);
  watch.Begin(3000);
  for (uint64_t i = 0; i < 5; ++i) watch.Observe(Read(3000, 3000, 3010 + i, 0));
  const SlowRead slowest = Take(watch, 3000, 4000).slowest;
  EXPECT_EQ(slowest.ns, 14u);
  EXPECT_GT(slowest.usual_ns, 0u);
}

}  // namespace
}  // namespace penstock::k3
