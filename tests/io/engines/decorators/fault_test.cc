#include "io/engines/decorators/fault.h"

#include <algorithm>
#include <cerrno>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "io/options.h"
#include "tests/io/random_file.h"
#include "tests/io/reader_probe.h"

namespace penstock::io {
namespace {

// A reader with a fault script over each engine.
class FaultOverEngines : public ::testing::TestWithParam<std::string> {
 protected:
  void Make(const std::string& fault, uint64_t block_bytes = 16 * kKiB) {
    IoOptions options;
    options.ioengine = GetParam();
    options.bs.bytes = block_bytes;
    options.fault = fault;
    auto reader = MakeReader(options, std::vector{file_.path()}, {}, {}, "layer");
    ASSERT_TRUE(reader) << reader.error().message;
    reader_ = std::move(*reader);
  }
  void Read(const Extent& extent, size_t index) {
    reader_->Read(extent, BufferFor(*reader_, extent), ReadClass::kTrunk, outcomes_.Of(index));
  }
  bool Arrived(size_t index, const Extent& extent) {
    const auto outcome = outcomes_[index];
    return !outcome.error && outcome.bytes.size() == extent.bytes &&
           file_.Holds(outcome.bytes.data(), extent.offset, extent.bytes);
  }

  const RandomFile file_{1'000'003, 1};
  Outcomes outcomes_;
  std::unique_ptr<Reader> reader_;
};

INSTANTIATE_TEST_SUITE_P(Engines, FaultOverEngines,
                         ::testing::Values("io_uring", "pread", "memory"),
                         [](const auto& param) { return param.param; });

TEST_P(FaultOverEngines, ShortReadsArriveWhole) {
  Make("short");
  const Extent extent{0, 3000, 900'000};
  Read(extent, 0);
  ASSERT_TRUE(outcomes_.WaitFor(1));
  EXPECT_TRUE(Arrived(0, extent));
  EXPECT_EQ(reader_->counters().retries, reader_->counters().reads);
}

TEST_P(FaultOverEngines, AShortReadAtTheEndOfTheFileArrivesWhole) {
  Make("short");
  const Extent extent{0, 990'000, 10'003};
  Read(extent, 0);
  ASSERT_TRUE(outcomes_.WaitFor(1));
  EXPECT_TRUE(Arrived(0, extent));
}

TEST_P(FaultOverEngines, EintrAndEagainAreRepeated) {
  Make("eintr@every=2,eagain@every=5");
  std::vector<Extent> extents;
  for (uint64_t i = 0; i < 30; ++i) extents.push_back({0, i * 30'000, 30'000});
  for (size_t i = 0; i < extents.size(); ++i) Read(extents[i], i);
  ASSERT_TRUE(outcomes_.WaitFor(extents.size()));
  for (size_t i = 0; i < extents.size(); ++i) EXPECT_TRUE(Arrived(i, extents[i])) << i;
  EXPECT_GT(reader_->counters().retries, 0u);
}

TEST_P(FaultOverEngines, EagainWithoutEndFails) {
  Make("eagain");
  Read({0, 0, 100}, 0);
  ASSERT_TRUE(outcomes_.WaitFor(1));
  EXPECT_EQ(outcomes_[0].error->sys, EAGAIN);
  EXPECT_EQ(ExitCode(*outcomes_[0].error), 1);
}

TEST_P(FaultOverEngines, EioAtALayerFailsThatLayerOnly) {
  Make("eio@layer=17");
  const Extent good{0, 100'000, 50'000, 16}, bad{0, 200'000, 50'000, 17};
  Read(good, 0);
  Read(bad, 1);
  ASSERT_TRUE(outcomes_.WaitFor(2));
  EXPECT_TRUE(Arrived(0, good));
  ASSERT_TRUE(outcomes_[1].error);
  EXPECT_EQ(outcomes_[1].error->sys, EIO);
  EXPECT_NE(outcomes_[1].error->message.find(file_.path()), std::string::npos);
}

TEST_P(FaultOverEngines, EioAtOneReadFailsOneExtent) {
  Make("eio@3");
  for (size_t i = 0; i < 5; ++i) Read({0, i * 16'384, 16'384}, i);
  ASSERT_TRUE(outcomes_.WaitFor(5));
  int failed = 0;
  for (size_t i = 0; i < 5; ++i) failed += outcomes_[i].error ? 1 : 0;
  EXPECT_EQ(failed, 1);
}

TEST_P(FaultOverEngines, ReorderedCompletionsBringTheRightBytes) {
  Make("reorder=3ms,seed=5", 4 * kKiB);
  std::vector<Extent> extents;
  for (uint64_t i = 0; i < 60; ++i) extents.push_back({0, i * 15'000, 15'000});
  for (size_t i = 0; i < extents.size(); ++i) {
    reader_->Read(extents[i], BufferFor(*reader_, extents[i]), ReadClass::kDemanded,
                  outcomes_.Of(i));
  }
  ASSERT_TRUE(outcomes_.WaitFor(extents.size()));
  for (size_t i = 0; i < extents.size(); ++i) EXPECT_TRUE(Arrived(i, extents[i])) << i;
  const auto order = outcomes_.order();
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
}

TEST_P(FaultOverEngines, StopDoesNotWaitForADelay) {
  Make("delay=1m");
  const Extent extent{0, 0, 5000};
  Read(extent, 0);
  reader_->Stop();  // The test's time limit is the assertion.
  EXPECT_EQ(outcomes_[0].calls, 1);
}

// Whatever the script: every read is answered once, with the file's bytes or an error.
TEST_P(FaultOverEngines, RandomScriptsNeverHangNorCorrupt) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  const std::vector<std::string> kinds = {"short",        "eintr",   "eagain",
                                          "delay=200us",  "reorder", "eio",
                                          "reorder=50us", "short",   "delay=10us"};
  const std::vector<std::string> selectors = {"",         "@every=2",       "@every=3",        "@7",
                                              "@layer=2", "@offset=300000", "@every=5@layer=1"};
  for (int round = 0; round < 25; ++round) {
    std::string script = "seed=" + std::to_string(random() % 1000);
    for (size_t n = 1 + random() % 3; n > 0; --n) {
      std::string clause = kinds[random() % kinds.size()] + selectors[random() % selectors.size()];
      if (clause == "eagain") clause += "@every=2";  // Without end it only takes long.
      script += "," + clause;
    }
    SCOPED_TRACE(script);
    const bool may_fail = script.find("eio") != std::string::npos ||
                          script.find("eagain") != std::string::npos ||
                          script.find("eintr") != std::string::npos;
    Outcomes outcomes;
    ASSERT_NO_FATAL_FAILURE(Make(script, 4096 * (1 + random() % 16)));
    std::vector<Extent> extents;
    for (uint32_t i = 0; i < 40; ++i) {
      const uint64_t offset = random() % 900'000;
      extents.push_back({0, offset, random() % 100'000, i % 4});
    }
    for (size_t i = 0; i < extents.size(); ++i) {
      const auto read_class = static_cast<ReadClass>(random() % 3);
      reader_->Read(extents[i], BufferFor(*reader_, extents[i]), read_class, outcomes.Of(i));
    }
    const bool stop_early = random() % 4 == 0;
    if (stop_early) reader_->Stop();
    ASSERT_TRUE(outcomes.WaitFor(extents.size()));
    for (size_t i = 0; i < extents.size(); ++i) {
      const auto outcome = outcomes[i];
      ASSERT_EQ(outcome.calls, 1);
      if (outcome.error) {
        ASSERT_TRUE(may_fail || stop_early) << outcome.error->message;
      } else {
        ASSERT_EQ(outcome.bytes.size(), extents[i].bytes);
        ASSERT_TRUE(file_.Holds(outcome.bytes.data(), extents[i].offset, extents[i].bytes));
      }
    }
    reader_.reset();
  }
}

}  // namespace
}  // namespace penstock::io
