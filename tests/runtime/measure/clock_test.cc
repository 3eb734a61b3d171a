#include "runtime/measure/clock.h"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(Clock, TheCpuClockStandsStillWhileTheThreadSleeps) {
  const uint64_t cpu = NowNs(Clock::kThreadCpu), wall = NowNs(Clock::kWall);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const uint64_t slept = NowNs(Clock::kWall) - wall;
  EXPECT_GE(slept, 50'000'000u);
  EXPECT_LT(NowNs(Clock::kThreadCpu) - cpu, slept / 2);
}

TEST(Clock, ABusyLoopLastsAsLongAsItWasTold) {
  const CpuTime busy = BusyLoop(Duration{5'000'000});
  EXPECT_GE(busy.wall_ns, 5'000'000u);
  EXPECT_GT(busy.cpu_ns, 0u);
}

TEST(Clock, LostIsWhatTheThreadDidNotRun) {
  EXPECT_DOUBLE_EQ(LostShare({100, 75}), 0.25);
  EXPECT_DOUBLE_EQ(LostShare({100, 100}), 0);
  EXPECT_DOUBLE_EQ(LostShare({100, 101}), 0);  // Two clocks are not read at the same moment.
  EXPECT_DOUBLE_EQ(LostShare({0, 0}), 0);
  EXPECT_DOUBLE_EQ(LostShare({100, 0}), 1);
}

}  // namespace
}  // namespace penstock
