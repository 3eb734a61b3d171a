#include "runtime/measure/measure.h"

#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

namespace penstock {
namespace {

// Arms a, b, ... that write their names down; the nth run of an arm takes 100 * arm + n.
struct Recorded {
  explicit Recorded(size_t count) : runs(count) {
    for (size_t arm = 0; arm < count; ++arm) {
      arms.push_back({std::string(1, static_cast<char>('a' + arm)), [this, arm] {
                        order += arms[arm].name;
                        return static_cast<double>(100 * arm + runs[arm]++);
                      }});
    }
  }

  std::vector<size_t> runs;
  std::vector<Arm> arms;
  std::string order;
};

MeasureOptions Rounds(size_t rounds) {
  MeasureOptions options;
  options.rounds = rounds;
  options.calibrate = nullptr;
  return options;
}

TEST(Measure, RotatesTheArmsAndDropsTheWarmUp) {
  Recorded recorded(3);
  const auto measured = Measure(recorded.arms, Rounds(4));
  ASSERT_TRUE(measured);
  EXPECT_EQ(recorded.order, "abcbcacababcbca");
  ASSERT_EQ(measured->samples.size(), 3u);
  EXPECT_EQ(measured->samples[0], (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(measured->samples[1], (std::vector<double>{101, 102, 103, 104}));
  EXPECT_EQ(measured->samples[2], (std::vector<double>{201, 202, 203, 204}));
  EXPECT_EQ(measured->cpu_lost, 0);
}

TEST(Measure, CalibratesOncePerRoundThatCounts) {
  Recorded recorded(2);
  MeasureOptions options = Rounds(4);
  uint64_t calls = 0;
  options.calibrate = [&] {
    ++calls;
    EXPECT_EQ(recorded.order.size(), 2 + 2 * calls);
    return CpuTime{100, calls == 1 ? uint64_t{20} : uint64_t{100}};
  };
  const auto measured = Measure(recorded.arms, options);
  ASSERT_TRUE(measured);
  EXPECT_EQ(calls, 4u);
  EXPECT_DOUBLE_EQ(measured->cpu_lost, 0.2);
}

TEST(Measure, StopsBeforeTheNextRunWhenTold) {
  Recorded recorded(2);
  MeasureOptions options = Rounds(9);
  size_t last_total = 0;
  options.go_on = [&](size_t done, size_t total) {
    EXPECT_EQ(done, recorded.order.size());
    last_total = total;
    return done < 5;
  };
  const auto measured = Measure(recorded.arms, options);
  ASSERT_FALSE(measured);
  EXPECT_EQ(measured.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(recorded.order.size(), 5u);
  EXPECT_EQ(last_total, 20u);
}

TEST(Measure, TimedCountsTheWorkByTheClockThatWasChosen) {
  int calls = 0;
  const auto work = [&calls] {
    ++calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  };
  const double wall = Timed(Clock::kWall, work)();
  const double cpu = Timed(Clock::kThreadCpu, work)();
  EXPECT_EQ(calls, 2);
  EXPECT_GE(wall, 20e6);
  EXPECT_LT(cpu, 20e6);
}

}  // namespace
}  // namespace penstock
