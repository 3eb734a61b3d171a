#include "runtime/process/signals.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace penstock {
namespace {

using std::chrono::milliseconds;

// Runs `body` in a process of its own and answers its exit code, or minus the signal that ended it.
int InChild(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void Send(int signal) { ::kill(::getpid(), signal); }

bool WaitFor(const std::function<bool()>& condition) {
  for (int i = 0; i < 500 && !condition(); ++i) std::this_thread::sleep_for(milliseconds(10));
  return condition();
}

TEST(StopSignals, FirstOneAsks) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    EXPECT_EQ(InChild([signal] {
                std::atomic<int> asked{0};
                auto signals = StopSignals::Start(
                    {.on_stop = [&](int number) { asked = number; }, .on_give_up = {}});
                if ((*signals)->received() != 0) return 1;
                Send(signal);
                if (!WaitFor([&] { return asked == signal; })) return 2;
                return (*signals)->received() == signal ? 77 : 3;
              }),
              77);
  }
}

TEST(StopSignals, SecondOneIsImmediate) {
  const auto run = [](int first, int second) {
    return InChild([=] {
      auto signals = StopSignals::Start({.on_stop = {}, .on_give_up = {}});
      Send(first);
      if (!WaitFor([&] { return (*signals)->received() != 0; })) return 2;
      Send(second);
      std::this_thread::sleep_for(milliseconds(5000));
      return 3;
    });
  };
  EXPECT_EQ(run(SIGINT, SIGINT), 130);
  EXPECT_EQ(run(SIGTERM, SIGINT), 143);
}

TEST(StopSignals, GraceEnds) {
  EXPECT_EQ(InChild([] {
              auto signals = StopSignals::Start(
                  {.on_stop = {}, .on_give_up = [] {}, .grace = Duration{50'000'000}});
              Send(SIGINT);
              std::this_thread::sleep_for(milliseconds(5000));
              return 2;
            }),
            130);
}

// Work of ten times the grace.
TEST(StopSignals, ARespiteIsNotCutOffButBySecondSignals) {
  const auto run = [](bool again) {
    return InChild([again] {
      auto signals =
          StopSignals::Start({.on_stop = {}, .on_give_up = {}, .grace = Duration{20'000'000}});
      const StopSignals::Respite respite(**signals);
      Send(SIGINT);
      if (!WaitFor([&] { return (*signals)->received() != 0; })) return 2;
      if (again) Send(SIGINT);
      std::this_thread::sleep_for(milliseconds(again ? 5000 : 200));
      ::_exit(77);  // Still within it.
    });
  };
  EXPECT_EQ(run(false), 77);
  EXPECT_EQ(run(true), 130);
}

// A Respite that ends in the middle of a grace: the next one is not the last one. A busy machine
// can only make longer what is measured.
TEST(StopSignals, AWholeGraceIsLeftBehindARespite) {
  using Steady = std::chrono::steady_clock;
  EXPECT_EQ(InChild([] {
              constexpr milliseconds kGrace{100};
              std::atomic<bool> over{false};
              Steady::time_point stopped, end;  // The latter before `over`.
              std::atomic<bool> asked{false};
              auto signals =
                  StopSignals::Start({.on_stop =
                                          [&](int) {
                                            stopped = Steady::now();
                                            asked = true;
                                          },
                                      .on_give_up =
                                          [&] {
                                            if (!over) ::_exit(3);
                                            if (Steady::now() - end < kGrace) ::_exit(4);
                                          },
                                      .grace = Duration{std::chrono::nanoseconds(kGrace).count()}});
              {
                const StopSignals::Respite respite(**signals);
                Send(SIGTERM);
                if (!WaitFor([&] { return asked.load(); })) return 2;
                std::this_thread::sleep_until(stopped + 5 * kGrace / 2);
                end = Steady::now();
                over = true;
              }
              std::this_thread::sleep_for(milliseconds(5000));
              return 5;
            }),
            143);
}

TEST(StopSignals, EndedItLeavesTheSignalsAlone) {
  EXPECT_EQ(InChild([] {
              { auto signals = StopSignals::Start({}); }
              Send(SIGTERM);
              std::this_thread::sleep_for(milliseconds(5000));
              return 2;
            }),
            -SIGTERM);
}

// The run ends and tears down; a second signal that arrives then must not change how it ended.
TEST(StopSignalsDeathTest, AfterOneTheNextEndsTheProcessAlsoWhenNobodyWatchesAnyMore) {
  const auto run = [] {
    {
      auto signals = StopSignals::Start({.on_stop = [](int) {}, .on_give_up = [] {}});
      if (!signals) ::_exit(1);
      ::kill(::getpid(), SIGTERM);
      while ((*signals)->received() == 0) std::this_thread::yield();
    }
    ::raise(SIGINT);
    ::_exit(2);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(143), "");
}

}  // namespace
}  // namespace penstock
