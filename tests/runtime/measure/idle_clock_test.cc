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

}  // namespace
}  // namespace penstock
