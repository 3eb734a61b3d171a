#include "runtime/output/progress.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace penstock {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

struct ProgressTest : ::testing::Test {
  Progress Make(bool terminal, uint64_t total) {
    return Progress([this](std::string_view text) { out += text; }, terminal, "tokens", total);
  }
  std::string Take() { return std::exchange(out, ""); }
  std::string out;
};

TEST_F(ProgressTest, RewritesOneLineOnATerminal) {
  Progress progress = Make(true, 100);
  progress.Update(0, 5 * kSecond);
  EXPECT_EQ(Take(), "\r0/100 tokens");
  progress.Update(1, 5 * kSecond + kSecond / 100);
  EXPECT_EQ(Take(), "");  // Too soon.
  progress.Update(20, 15 * kSecond, "1 GiB/s");
  EXPECT_EQ(Take(), "\r20/100 tokens  2 tokens/s  40 s left  1 GiB/s");
  progress.Update(99, 16 * kSecond);
  const std::string line = Take();
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_GE(line.size(), std::string("\r20/100 tokens  2 tokens/s  40 s left  1 GiB/s").size());
  progress.Clear();
  EXPECT_EQ(out.front(), '\r');
  EXPECT_EQ(out.back(), '\r');
  Take();
  progress.Clear();
  EXPECT_EQ(out, "");
}

TEST_F(ProgressTest, PrintsPlainLinesElsewhere) {
  Progress progress = Make(false, 7200);
  progress.Update(0, 0);
  progress.Update(1, 5 * kSecond);
  EXPECT_EQ(Take(), "");
  progress.Update(10, 10 * kSecond);
  EXPECT_EQ(Take(), "10/7200 tokens  1 tokens/s  1 h 59 min left\n");
  progress.Clear();
  EXPECT_EQ(Take(), "");
}

TEST_F(ProgressTest, NoTotalNoRemainder) {
  Progress progress = Make(false, 0);
  progress.Update(0, 0);
  progress.Update(5, 10 * kSecond);
  EXPECT_EQ(Take(), "5 tokens  0.5 tokens/s\n");
}

}  // namespace
}  // namespace penstock
