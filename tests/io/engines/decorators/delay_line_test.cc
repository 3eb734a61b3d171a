#include "io/engines/decorators/delay_line.h"

#include <algorithm>
#include <atomic>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace penstock::io {
namespace {

using Line = DelayLine<int>;
using std::chrono::milliseconds;

TEST(DelayLine, HandsOnInOrderOfDueTime) {
  std::vector<int> got;
  Line line("test",
            [&](std::span<const int> batch) { got.insert(got.end(), batch.begin(), batch.end()); });
  ASSERT_TRUE(line.Start({}));
  const auto start = Line::Clock::now() + milliseconds(30);
  line.Hold(3, start + milliseconds(3));
  line.Hold(1, start + milliseconds(1));
  line.Hold(2, start + milliseconds(2));
  line.Hold(4, start + milliseconds(3));
  std::this_thread::sleep_until(start + milliseconds(20));
  line.Stop();
  EXPECT_EQ(got, (std::vector{1, 2, 3, 4}));
}

TEST(DelayLine, NothingComesBeforeItIsDue) {
  std::atomic<int> early = 0;
  std::atomic<int> count = 0;
  const auto due = Line::Clock::now() + milliseconds(20);
  Line line("test", [&](std::span<const int> batch) {
    count += static_cast<int>(batch.size());
    if (Line::Clock::now() < due) ++early;
  });
  ASSERT_TRUE(line.Start({}));
  line.Hold(1, due);
  line.Hold(2, due);
  while (count < 2) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(early, 0);
}

TEST(DelayLine, StopHandsOnWhatIsHeldAtOnce) {
  std::vector<int> got;
  Line line("test",
            [&](std::span<const int> batch) { got.insert(got.end(), batch.begin(), batch.end()); });
  ASSERT_TRUE(line.Start({}));
  for (int i = 0; i < 100; ++i) line.Hold(99 - i, Line::Clock::now() + std::chrono::hours(100 - i));
  line.Stop();
  ASSERT_EQ(got.size(), 100u);
  EXPECT_TRUE(std::is_sorted(got.begin(), got.end()));
  line.Stop();
}

TEST(DelayLine, TheReceiverMayHoldAgain) {
  std::atomic<int> rounds = 0;
  Line* self = nullptr;
  Line line("test", [&](std::span<const int> batch) {
    for (int item : batch) {
      ++rounds;
      if (item > 0) self->Hold(item - 1, Line::Clock::now());
    }
  });
  self = &line;
  ASSERT_TRUE(line.Start({}));
  line.Hold(50, Line::Clock::now());
  line.Stop();
  EXPECT_EQ(rounds, 51);
}

}  // namespace
}  // namespace penstock::io
