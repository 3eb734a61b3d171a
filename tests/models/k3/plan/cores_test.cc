#include "models/k3/plan/cores.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "models/k3/engine.h"
#include "runtime/cpu/affinity.h"
#include "tests/models/k3/tiny_model.h"
#include "tests/models/k3/tiny_pack.h"

namespace penstock::k3 {
namespace {

constexpr const char* kWorker = "penstock-worker";
constexpr const char* kDecoder = "penstock-decode";

// One thread of this process, as the kernel tells of it.
struct Thread {
  std::string name;
  std::string cpus;        // That it may run on, as a list.
  uint64_t cpu_ticks = 0;  // User and system, in hundredths of a second.
};

std::map<int, Thread> Threads() {
  std::map<int, Thread> threads;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    Thread& thread = threads[std::stoi(entry.path().filename())];
    std::ifstream status(entry.path() / "status");
    for (std::string line; std::getline(status, line);) {
      const std::string label = line.substr(0, line.find(':'));
      const size_t value = line.find_first_not_of(" \t", label.size() + 1);
      if (label == "Name") thread.name = line.substr(value);
      if (label == "Cpus_allowed_list") thread.cpus = line.substr(value);
    }
    // "tid (name) state ...": user and system time are the 14th and 15th word.
    std::string stat;
    std::getline(std::ifstream(entry.path() / "stat"), stat);
    std::istringstream words(stat.substr(std::min(stat.size(), stat.rfind(')') + 1)));
    std::string word;
    for (int i = 3; words >> word && i <= 15; ++i) {
      if (i >= 14) thread.cpu_ticks += std::stoull(word);
    }
  }
  return threads;
}

// Runs steps on the embedded checkpoint with its threads laid out as asked, and answers those that
// are there now and were not before. Steps go on until the compute threads have been seen to work.
std::vector<Thread> ThreadsOf(const PipelineOptions& options, const io::IoOptions& io_options) {
  const std::map<int, Thread> before = Threads();
  const auto engine = Engine::Open(kTiny, 4000, options, io_options, nullptr);
  EXPECT_TRUE(engine.has_value()) << engine.error().message;
  if (!engine) return {};
  std::vector<Thread> own;
  text::StateRef state = (*engine)->EmptyState();
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 20; ++i) {
      const text::TokenId id = 5;
      auto step = (*engine)->Step(state, std::span(&id, 1));
      EXPECT_TRUE(step.has_value());
      state = step->after.back();
    }
    own.clear();
    uint64_t computed = 0;
    for (const auto& [tid, thread] : Threads()) {
      const auto was = before.find(tid);
      Thread now = thread;
      if (was != before.end() && was->second.name == thread.name) {
        now.cpu_ticks -= was->second.cpu_ticks;
        if (now.cpu_ticks == 0) continue;  // Of another test: TBB keeps its threads.
      }
      if (tid == getpid()) continue;
      own.push_back(now);
      if (now.name == kWorker) computed += now.cpu_ticks;
    }
    if (computed >= 2) break;
  }
  return own;
}

size_t Count(const std::vector<Thread>& threads, const std::string& name) {
  size_t count = 0;
  for (const Thread& thread : threads) count += thread.name == name;
  return count;
}

bool IsIo(const Thread& thread) { return thread.name == "penstock-pread"; }

void ExpectLayout(const std::vector<Thread>& threads, const std::string& compute,
                  const std::string& decode, const std::string& io) {
  uint64_t computed = 0, decoded = 0;
  size_t readers = 0;
  for (const Thread& thread : threads) {
    SCOPED_TRACE(thread.name);
    if (thread.name == kWorker) {
      EXPECT_EQ(thread.cpus, compute);
      computed += thread.cpu_ticks;
    } else if (thread.name == kDecoder) {
      EXPECT_EQ(thread.cpus, decode);
      decoded += thread.cpu_ticks;
    } else if (IsIo(thread)) {
      EXPECT_EQ(thread.cpus, io);
      ++readers;
    }
  }
  EXPECT_GT(computed, 0u) << "the work was done by the threads that are for it";
  EXPECT_GT(readers, 0u);
}

class ThreadLayout : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(sched_getaffinity(0, sizeof(inherited_), &inherited_), 0);
    cpus_ = *AllowedCpus();
    options_.pin = "0";
    io_options_.ioengine = "pread";
  }
  void TearDown() override { sched_setaffinity(0, sizeof(inherited_), &inherited_); }
  std::string Cpu(size_t i) const { return std::to_string(cpus_.cpus[i]); }

  cpu_set_t inherited_{};
  CpuSet cpus_;
  PipelineOptions options_;
  io::IoOptions io_options_;
};

TEST_F(ThreadLayout, EachThreadRunsWhereItsListSays) {
  if (cpus_.size() < 2) GTEST_SKIP() << "one CPU";
  options_.cpus_compute = Cpu(0);
  io_options_.cpus_io = Cpu(1);
  const auto threads = ThreadsOf(options_, io_options_);
  ExpectLayout(threads, Cpu(0), "", Cpu(1));
  EXPECT_EQ(Count(threads, kWorker), 1u);
}

TEST_F(ThreadLayout, DecodeNodesHaveTheirOwn) {
  if (cpus_.size() < 2) GTEST_SKIP() << "one CPU";
  const PackFolder folder;
  options_.pack = folder.PackTiny("chain");
  options_.decode = "node";
  options_.cpus_compute = Cpu(0);
  options_.cpus_decode = Cpu(1);
  io_options_.cpus_io = Cpu(1);
  const auto threads = ThreadsOf(options_, io_options_);
  ExpectLayout(threads, Cpu(0), Cpu(1), Cpu(1));
  EXPECT_GE(Count(threads, kDecoder), 1u);
}

TEST_F(ThreadLayout, OnOneCpuAllShareIt) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpus_.cpus[0], &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  const auto threads = ThreadsOf(options_, io_options_);
  ExpectLayout(threads, Cpu(0), Cpu(0), Cpu(0));
  EXPECT_EQ(Count(threads, kWorker), 1u) << "as many as CPUs that were inherited";
}

TEST_F(ThreadLayout, ASetGivesAsManyThreadsAsItHasCpus) {
  EXPECT_EQ(ChooseCores(options_, false)->threads, DefaultThreads(cpus_));
  options_.cpus_compute = Cpu(0);
  EXPECT_EQ(ChooseCores(options_, false)->threads, 1u);
  options_.threads = 3;
  EXPECT_EQ(ChooseCores(options_, false)->threads, 3u) << "-t beats the size of the set";
  options_.threads = 17;
  EXPECT_FALSE(ChooseCores(options_, false).has_value());
  options_.threads = 0;
  options_.cpus_compute = "8191";
  EXPECT_FALSE(ChooseCores(options_, false).has_value()) << "not inherited";
}

TEST_F(ThreadLayout, DecodeCoresThatComputeAsWellAreSeen) {
  options_.cpus_decode = Cpu(0);
  EXPECT_FALSE(ChooseCores(options_, false).has_value()) << "nothing to decode";
  EXPECT_TRUE(ChooseCores(options_, true)->shared);
  if (cpus_.size() < 2) GTEST_SKIP() << "one CPU";
  options_.cpus_compute = Cpu(1);
  EXPECT_FALSE(ChooseCores(options_, true)->shared);
}

TEST(DefaultThreads, AreNoMoreThanTheQuotaRuns) {
  const std::string root = testing::TempDir() + "penstock_quota_" + std::to_string(getpid());
  const auto write = [&](const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root + path).parent_path());
    std::ofstream(root + path) << text;
  };
  CpuSet cpus;
  for (unsigned cpu = 4; cpu < 12; ++cpu) cpus.cpus.push_back(cpu);
  EXPECT_EQ(DefaultThreads(cpus, root), 8u) << "no limit";
  write("/proc/self/mountinfo", "30 20 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  write("/proc/self/cgroup", "0::/a\n");
  for (const auto& [quota, threads] :
       {std::pair{"250000", 3u}, {"20000", 1u}, {"9000000", 8u}, {"max", 8u}}) {
    write("/sys/fs/cgroup/a/cpu.max", std::string(quota) + " 100000\n");
    EXPECT_EQ(DefaultThreads(cpus, root), threads) << quota;
  }
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace penstock::k3
