#include "models/k3/bench/codec/team.h"

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/cpu/affinity.h"

namespace penstock::k3 {
namespace {

// On a thread of its own, because the caller's thread is pinned.
template <class F>
void OnAThread(F work) {
  std::thread(work).join();
}

TEST(Team, EveryMemberWorksOnceForEachRun) {
  OnAThread([] {
    const unsigned cpu = AllowedCpus()->cpus.front();
    const std::vector<unsigned> cpus(3, cpu);
    const auto team = Team::Start(cpus);
    ASSERT_TRUE(team);
    ASSERT_EQ((*team)->size(), 3u);
    std::array<std::atomic<int>, 3> calls{};
    for (int run = 1; run <= 20; ++run) {
      (*team)->Run([&](size_t member) { ++calls.at(member); });
      for (const auto& count : calls) ASSERT_EQ(count, run);
    }
  });
}

TEST(Team, MembersArePinnedInOrder) {
  OnAThread([] {
    const std::vector<unsigned> allowed = AllowedCpus()->cpus;
    const std::vector<unsigned> cpus = {allowed.back(), allowed.front()};
    const auto team = Team::Start(cpus);
    ASSERT_TRUE(team);
    std::array<CpuSet, 2> seen;
    (*team)->Run([&](size_t member) { seen.at(member) = *AllowedCpus(); });
    EXPECT_EQ(seen[0].cpus, std::vector<unsigned>{cpus[0]});
    EXPECT_EQ(seen[1].cpus, std::vector<unsigned>{cpus[1]});
  });
}

TEST(Team, ACpuThatIsNotThereIsAnError) {
  OnAThread([] {
    const unsigned cpu = AllowedCpus()->cpus.front();
    EXPECT_FALSE(Team::Start(std::vector<unsigned>{cpu, kMaxCpuId}));
    EXPECT_FALSE(Team::Start(std::vector<unsigned>{kMaxCpuId}));
  });
}

}  // namespace
}  // namespace penstock::k3
