#include "runtime/output/events.h"

#include <cerrno>
#include <filesystem>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/small_file.h"

namespace penstock {
namespace {

std::string FreshPath(const std::string& name) {
  const std::string path = ::testing::TempDir() + name;
  std::filesystem::remove(path);
  return path;
}

std::vector<Json> ReadLines(const std::string& path) {
  std::istringstream lines(*ReadSmallFile(path));
  std::vector<Json> out;
  for (std::string line; std::getline(lines, line);) out.push_back(Json::parse(line));
  return out;
}

TEST(EventLog, WritesOneLineForEachRecord) {
  const std::string path = FreshPath("events_test.jsonl");
  auto log = EventLog::Create(path, "penstock.event.v1", false);
  ASSERT_TRUE(log);
  ASSERT_TRUE((*log)->Write("start", {{"text", "a\nb"}}));
  EXPECT_EQ(ReadLines(path).size(), 1u);  // Complete before the log is closed.
  ASSERT_TRUE((*log)->Write("end", {{"text", "\xff"}}));
  const auto lines = ReadLines(path);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["schema"], "penstock.event.v1");
  EXPECT_EQ(lines[0]["event"], "start");
  EXPECT_EQ(lines[0]["text"], "a\nb");
  EXPECT_EQ(lines[1]["text"], "\xef\xbf\xbd");
}

TEST(EventLog, OverwritesNothingUnasked) {
  const std::string path = FreshPath("events_test_twice.jsonl");
  ASSERT_TRUE((*EventLog::Create(path, "s", false))->Write("first", Json::object()));
  EXPECT_EQ(EventLog::Create(path, "s", false).error().code, ErrorCode::kRefused);
  EXPECT_EQ(ReadLines(path).size(), 1u);
  EXPECT_TRUE(EventLog::Create(path, "s", true));
}

TEST(EventLog, ThreadsDoNotMixLines) {
  const std::string path = FreshPath("events_test_threads.jsonl");
  auto log = *EventLog::Create(path, "s", false);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&log, t] {
      for (int i = 0; i < 100; ++i) ASSERT_TRUE(log->Write("e", {{"t", t}, {"i", i}}));
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(ReadLines(path).size(), 400u);
}

TEST(FaultEventLog, FullDiskIsAnErrorThatStays) {
  auto log = *EventLog::Create("/dev/full", "s", false);
  EXPECT_EQ(log->Write("a", Json::object()).error().sys, ENOSPC);
  EXPECT_EQ(log->Write("b", Json::object()).error().sys, ENOSPC);
}

// A limit on the file's size stops a write in the middle of a line, as a disk does that fills up.
TEST(FaultEventLog, HalfALineIsTakenBack) {
  const std::string path = FreshPath("events_test_half.jsonl");
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100, 100};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    auto log = *EventLog::Create(path, "s", false);
    const bool first = log->Write("a", {{"text", std::string(20, 'x')}}).has_value();
    const bool second = log->Write("b", {{"text", std::string(100, 'y')}}).has_value();
    ::_exit(first && !second ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  ASSERT_EQ(ReadLines(path).size(), 1u);
  EXPECT_EQ(ReadLines(path)[0]["event"], "a");
}

}  // namespace
}  // namespace penstock
