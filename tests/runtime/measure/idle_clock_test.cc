#include "runtime/measure/idle_clock.h"

#include <thread>

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(IdleClock, ChargesTheWaitToWhatEndedIt) {
  IdleClock<2> clock;
  clock.Begin();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  clock.Enter(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));  // Work, not idleness.
  clock.Enter(0);                                             // Nothing was idle: no charge.
  clock.Leave();
  clock.Leave();
  EXPECT_EQ(clock.idle_ns(0), 0u);
  const uint64_t waited = clock.idle_ns(1);
  EXPECT_GE(waited, 5'000'000u);
  clock.Enter(1);
  clock.Leave();
  EXPECT_LT(clock.idle_ns(1) - waited, waited);
}

TEST(IdleClock, BeginForgets) {
  IdleClock<2> clock;
  clock.Begin();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  clock.Enter(0);
  clock.Leave();
  EXPECT_GT(clock.idle_ns(0), 0u);
  clock.Begin();
  EXPECT_EQ(clock.idle_ns(0), 0u);
}

TEST(IdleClock, KeepsTheFirstIntervals) {
  IdleClock<2> clock(2);
  clock.Begin();
  for (const size_t kind : {1, 0, 1}) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    clock.Enter(kind);
    clock.Leave();
  }
  const auto spans = clock.spans();
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].kind, 1u);
  EXPECT_EQ(spans[1].kind, 0u);
  EXPECT_LE(spans[0].end_ns, spans[1].begin_ns);
  EXPECT_EQ(clock.idle_ns(0), spans[1].end_ns - spans[1].begin_ns);
  EXPECT_GT(clock.idle_ns(1), spans[0].end_ns - spans[0].begin_ns) << "the third has no place";
  EXPECT_GT(clock.since_ns(), spans[1].end_ns);
  clock.Begin();
  EXPECT_TRUE(clock.spans().empty());
}

}  // namespace
}  // namespace penstock
