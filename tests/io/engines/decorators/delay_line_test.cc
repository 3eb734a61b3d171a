#include "io/engines/decorators/delay_line.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include <gtest/gtest.h>

namespace penstock::io {
namespace {

using Line = DelayLine<int>;
using std::chrono::milliseconds;

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

TEST(DelayLine, StopHandsOnWhatIsHeldAtOnceInOrderOfDueTime) {
  std::vector<int> got;
  Line line("test",
            [&](std::span<const int> batch) { got.insert(got.end(), batch.begin(), batch.end()); });
  ASSERT_TRUE(line.Start({}));
  const auto later = Line::Clock::now() + std::chrono::hours(1);
  // Two items share each due time; of those the first held comes first.
  for (int i = 49; i >= 0; --i) {
    line.Hold(2 * i, later + milliseconds(i));
    line.Hold(2 * i + 1, later + milliseconds(i));
  }
  line.Stop();
  ASSERT_EQ(got.size(), 100u);
  EXPECT_TRUE(std::is_sorted(got.begin(), got.end()));
  line.Stop();
}

// The heap moves while the thread waits for its first item.
TEST(DelayLine, ItemsMayBeAddedWhileItWaits) {
  std::atomic<int> count = 0;
  Line line("test", [&](std::span<const int> batch) { count += static_cast<int>(batch.size()); });
  ASSERT_TRUE(line.Start({}));
  const auto due = Line::Clock::now() + milliseconds(20);
  for (int i = 0; i < 1000; ++i) {
    line.Hold(i, due + milliseconds(i % 10));
    if (i == 0) std::this_thread::sleep_for(milliseconds(5));
  }
  while (count < 1000) std::this_thread::sleep_for(milliseconds(1));
  line.Stop();
  EXPECT_EQ(count, 1000);
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
