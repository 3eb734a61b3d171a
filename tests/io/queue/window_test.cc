#include "io/queue/window.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "io/device_stats.h"
#include "io/reader.h"
#include "tests/io/random_file.h"

namespace penstock::io {
namespace {

TEST(Window, TheFewestReadsThatNoMoreBeatEveryTimeAreTaken) {
  constexpr std::array<uint64_t, 3> kReads = {2, 4, 8};
  using Rounds = std::vector<std::vector<double>>;
  const auto reads = [&](const Rounds& rounds) { return SmallestSufficient(kReads, rounds).reads; };
  EXPECT_EQ(reads({{98, 100, 100}}), 2u);
  EXPECT_EQ(reads({{97, 100, 100}}), 4u);
  EXPECT_EQ(reads({{50, 97, 100}, {50, 97, 100}}), 8u);
  EXPECT_EQ(reads({{97, 100, 90}, {97, 90, 100}}), 2u);  // One time this, one time that.
  EXPECT_EQ(reads({{50, 100, 100}, {60, 50, 90}, {99, 100, 100}}), 2u);
  EXPECT_EQ(reads({{50, 100, 99}, {60, 70, 90}}), 4u);
  EXPECT_EQ(SmallestSufficient(kReads, Rounds{{1, 5, 3}, {9, 1, 1}, {1, 2, 4}}).bytes_per_second,
            5);
  EXPECT_EQ(SmallestSufficient(std::array<uint64_t, 1>{2}, Rounds{{7}}).reads, 2u);
}

TEST(Window, APacedDeviceIsArithmetic) {
  const auto window = [](uint64_t rate, uint64_t latency_ns, uint64_t block) {
    return WindowOfPace({rate, Duration{latency_ns}}, block).bytes;
  };
  EXPECT_EQ(window(500'000'000, 100'000, 4 * kMiB), 8 * kMiB);     // Two reads at least;
  EXPECT_EQ(window(3'000'000'000, 0, 4 * kMiB), 8 * kMiB);         // 3 MB while one is answered,
  EXPECT_EQ(window(7'000'000'000, 0, 4 * kMiB), 12 * kMiB);        // 7 MB,
  EXPECT_EQ(window(1'000'000'000, 9'000'000, kMiB), 11 * kMiB);    // 10 MB with the latency,
  EXPECT_EQ(window(1'000'000'000, 0, 64 * kKiB), 17 * 64 * kKiB);  // also in small reads,
  EXPECT_EQ(window(uint64_t{1} << 62, 60'000'000'000, kMiB), kMostWindowBytes);  // at most so much,
  EXPECT_EQ(window(uint64_t{1} << 62, 0, 64 * kMiB), 128 * kMiB);                // but two reads.
  EXPECT_EQ(WindowOfPace({12345, {}}, kMiB).bytes_per_second, 12345u);
}

class ChosenWindow : public ::testing::Test {
 protected:
  ChosenWindow() {
    auto files = FileSet::Open(std::vector{file_.path()}, DirectMode::kAuto, {});
    EXPECT_TRUE(files);
    files_ = std::move(*files);
  }
  Window Choose(const IoOptions& options) {
    const auto window = ChooseWindow(options, files_);
    EXPECT_TRUE(window);
    return window ? *window : Window{0};
  }

  const RandomFile file_{1 << 20, 1};
  FileSet files_;
};

TEST_F(ChosenWindow, IsTheDefaultForSmallFiles) {
  const Window window = Choose({});
  EXPECT_EQ(window.bytes, kDefaultWindowBytes);
  EXPECT_EQ(window.bytes_per_second, 0u);  // Not measured.
}

TEST_F(ChosenWindow, IsWhatTheOptionsSay) {
  IoOptions options;
  options.iodepth = 3;
  EXPECT_EQ(Choose(options).bytes, 12 * kMiB);
  options.window = "40M";
  EXPECT_EQ(Choose(options).bytes, 12 * kMiB);  // --iodepth caps it.
  options.window = "5M";
  EXPECT_EQ(Choose(options).bytes, 5 * kMiB);
  options.iodepth = 0;
  options.window = "40M";
  EXPECT_EQ(Choose(options).bytes, 40 * kMiB);
  options.window = "auto";
  options.pace = "7G";
  EXPECT_EQ(Choose(options).bytes, 12 * kMiB);
  EXPECT_EQ(Choose(options).bytes_per_second, 7 * kGiB);
  options.iodepth = 1;
  EXPECT_EQ(Choose(options).bytes, 4 * kMiB);
  EXPECT_EQ(Choose(options).bytes_per_second, 7 * kGiB);
}

TEST_F(ChosenWindow, IsToldByTheReader) {
  IoOptions options;
  options.ioengine = "memory";
  options.pace = "7000000000B";
  const auto reader = MakeReader(options, std::vector{file_.path()}, {}, {});
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ((*reader)->devices().at(0).window_bytes, 12 * kMiB);
  EXPECT_EQ((*reader)->devices().at(0).bytes_per_second, 7'000'000'000u);
  EXPECT_NE((*reader)->Describe().find("12M in flight of a device of 7.00 GB/s"),
            std::string::npos);
}

TEST_F(ChosenWindow, RefusesWhatIsNoSize) {
  for (const char* text : {"", "much", "4095", "2G", "-1"}) {
    IoOptions options;
    options.window = text;
    const auto window = ChooseWindow(options, files_);
    ASSERT_FALSE(window) << text;
    EXPECT_EQ(window.error().code, ErrorCode::kRefused);
    EXPECT_NE(window.error().message.find("--window"), std::string::npos);
  }
}

// Answers every read at once, whole or with `result`, from a thread of its own.
class InstantEngine final : public Engine {
 public:
  void Start(Sink sink) override {
    sink_ = std::move(sink);
    thread_ = std::thread([this] { Run(); });
  }
  void Submit(std::span<const EngineRead> reads) override {
    const std::lock_guard lock(mutex_);
    queue_.insert(queue_.end(), reads.begin(), reads.end());
    in_flight_ += reads.size();
    most_in_flight_ = std::max(most_in_flight_, in_flight_);
    for (const EngineRead& read : reads) seen_.push_back(read);
    changed_.notify_one();
  }
  void Stop() override {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      changed_.notify_one();
    }
    if (thread_.joinable()) thread_.join();
  }
  ~InstantEngine() override { Stop(); }
  std::string Describe() const override { return "instant"; }

  int error = 0;
  bool stopped_ = false;
  size_t in_flight_ = 0, most_in_flight_ = 0;
  std::vector<EngineRead> seen_;

 private:
  void Run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stopped_ || !queue_.empty(); });
      if (queue_.empty()) return;
      std::vector<Completion> batch;
      for (const EngineRead& read : queue_) {
        batch.push_back({read.cookie, error != 0 ? -error : read.bytes, read.data});
      }
      queue_.clear();
      in_flight_ -= batch.size();
      lock.unlock();
      sink_(batch);
      lock.lock();
    }
  }

  Sink sink_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<EngineRead> queue_;
  std::thread thread_;
};

class MeasuredWindow : public ChosenWindow {
 protected:
  void SetUp() override {
    if (files_.direct_count() == 0) GTEST_SKIP() << "no direct reads in the temporary folder";
  }
  Result<Window> Measure(uint64_t block) {
    return MeasureWindow(engine_, files_, 0, block, Duration{5'000'000});
  }
  InstantEngine engine_;
};

TEST_F(MeasuredWindow, ReadsTheWholeFileInBlocksAndIsBounded) {
  const auto window = Measure(64 * kKiB);
  ASSERT_TRUE(window);
  EXPECT_GE(window->bytes, 2 * 64 * kKiB);
  EXPECT_LE(window->bytes, 256 * 64 * kKiB);
  EXPECT_EQ(window->bytes % (64 * kKiB), 0u);
  EXPECT_GT(window->bytes_per_second, 0u);
  EXPECT_TRUE(engine_.stopped_);
  EXPECT_EQ(engine_.in_flight_, 0u);
  EXPECT_LE(engine_.most_in_flight_, 256u);
  std::set<uint64_t> offsets;
  for (const EngineRead& read : engine_.seen_) {
    ASSERT_EQ(read.bytes, 64 * kKiB);
    ASSERT_EQ(read.offset % (64 * kKiB), 0u);
    ASSERT_LE(read.offset + read.bytes, file_.size());
    ASSERT_EQ(reinterpret_cast<uintptr_t>(read.data) % 4096, 0u);
    offsets.insert(read.offset);
  }
  EXPECT_EQ(offsets.size(), 16u);
}

TEST_F(MeasuredWindow, FailsWithTheReads) {
  engine_.error = EIO;
  EXPECT_FALSE(Measure(64 * kKiB));
  EXPECT_TRUE(engine_.stopped_);
}

TEST_F(MeasuredWindow, NeedsAFileOfOneRead) {
  EXPECT_FALSE(Measure(2 * kMiB));
  EXPECT_TRUE(engine_.seen_.empty());
}

}  // namespace
}  // namespace penstock::io
