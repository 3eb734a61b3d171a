#include "models/k3/commands/generate/run.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>

#include "runtime/small_file.h"
#include "tests/models/k3/commands/penstock_process.h"

namespace penstock::k3 {
namespace {

using std::chrono::steady_clock;

// A run that takes minutes, and how it reacts to signals.
struct RunSignals : ::testing::Test {
  std::vector<std::string> Slow(const std::string& rate) const {
    return {"generate", "-m",    kTiny,      "-p",           "She",      "-n",
            "8000",     "--pin", "0",        "--ignore-eos", "--output", "ids",
            "--pace",   rate,    "--events", events,         "--logits", logits};
  }
  size_t Tokens() const {
    const auto text = ReadSmallFile(events);
    size_t count = 0;
    for (size_t at = 0; text && (at = text->find("\"event\":\"token\"", at)) != std::string::npos;
         ++at) {
      ++count;
    }
    return count;
  }
  TemporaryFolder folder;
  std::string events = folder.File("e.jsonl");
  std::string logits = folder.File("l.f32");
};

TEST_F(RunSignals, FirstOneFlushesWhatThereIs) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    std::filesystem::remove(events);
    std::filesystem::remove(logits);
    PenstockProcess process(Slow("200M"));
    ASSERT_TRUE(Eventually([&] { return Tokens() >= 2; }));
    const auto asked = steady_clock::now();
    process.Signal(signal);
    const ProcessResult result = process.Wait();
    EXPECT_LT(steady_clock::now() - asked, std::chrono::seconds(2));
    EXPECT_EQ(result.exit_code, 128 + signal) << result.err;
    const auto records = ReadRecords(events);
    EXPECT_EQ(records.back()["event"], "run_error");
    EXPECT_EQ(records.back()["code"], "cancelled");
    const size_t tokens = RecordsOf(records, "token").size();
    EXPECT_EQ(ReadSmallFile(logits)->size(), tokens * 2048 * sizeof(float));
    ASSERT_FALSE(result.out.empty());
    EXPECT_EQ(result.out.back(), '\n');
    EXPECT_EQ(static_cast<size_t>(std::count(result.out.begin(), result.out.end(), ',')),
              tokens - 1);
  }
}

TEST_F(RunSignals, AStepThatDoesNotEndIsGivenUp) {
  PenstockProcess process(Slow("20k"));  // One step takes minutes.
  ASSERT_TRUE(Eventually([&] { return std::filesystem::exists(events); }));
  const auto asked = steady_clock::now();
  process.Signal(SIGINT);
  const ProcessResult result = process.Wait();
  EXPECT_LT(steady_clock::now() - asked, std::chrono::seconds(4));
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_EQ(ReadRecords(events).back()["event"], "run_error");
}

TEST_F(RunSignals, WhileWeightsArePinnedNothingIsLeftBehind) {
  // Ten seconds until all of the trunk is there.
  PenstockProcess process({"generate", "-m", kTiny, "-p", "She", "-n", "8", "--pin", "99", "--bs",
                           "64k", "--pace", "1M", "--events", events});
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const auto asked = steady_clock::now();
  process.Signal(SIGINT);
  EXPECT_EQ(process.Wait().exit_code, 130);
  EXPECT_LT(steady_clock::now() - asked, std::chrono::seconds(4));
  EXPECT_FALSE(std::filesystem::exists(events));
}

TEST_F(RunSignals, SecondOneIsImmediate) {
  PenstockProcess process(Slow("20k"));
  ASSERT_TRUE(Eventually([&] { return std::filesystem::exists(events); }));
  process.Signal(SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const auto asked = steady_clock::now();
  process.Signal(SIGINT);
  EXPECT_EQ(process.Wait().exit_code, 130);
  EXPECT_LT(steady_clock::now() - asked, std::chrono::seconds(1));
}

}  // namespace
}  // namespace penstock::k3
