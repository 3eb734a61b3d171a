#include "io/engines/pread.h"

#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/memory/region.h"
#include "tests/io/random_file.h"

namespace penstock::io {
namespace {

class PreadEngineTest : public ::testing::Test {
 protected:
  void Make(uint64_t depth) {
    auto files = FileSet::Open(std::vector{file_.path()}, DirectMode::kAuto, {});
    ASSERT_TRUE(files);
    files_ = std::move(*files);
    EngineSetup setup;
    setup.files = &files_;
    setup.depth = depth;
    auto engine = MakePreadEngine(setup);
    ASSERT_TRUE(engine);
    engine_ = std::move(*engine);
    engine_->Start([this](std::span<const Completion> batch) {
      const std::lock_guard lock(mutex_);
      for (const Completion& completion : batch) results_[completion.cookie] = completion.result;
      done_ += batch.size();
      changed_.notify_one();
    });
  }
  bool WaitFor(size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(1), [&] { return done_ >= count; });
  }

  const RandomFile file_{1'000'000, 1};
  FileSet files_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int64_t> results_ = std::vector<int64_t>(2000, -1);
  size_t done_ = 0;
  std::unique_ptr<Engine> engine_;
};

TEST_F(PreadEngineTest, HasThreadsForTheWindowAndForDemandedReads) {
  Make(3);
  EXPECT_EQ(engine_->Describe(), "pread, 7 threads");
  Make(4096);
  EXPECT_EQ(engine_->Describe(), "pread, 64 threads");
}

TEST_F(PreadEngineTest, CompletesEveryReadOnceAlsoWhenStopped) {
  Make(2);
  auto memory = HugeRegion::Map(2000 * 4096);
  ASSERT_TRUE(memory);
  std::vector<EngineRead> reads(2000);
  for (size_t i = 0; i < reads.size(); ++i) {
    reads[i].cookie = i;
    reads[i].offset = i % 200 * 4096;
    reads[i].data = memory->data() + i * 4096;
    reads[i].bytes = 4096;
  }
  engine_->Submit(reads);
  engine_->Stop();
  EXPECT_EQ(done_, reads.size());
  for (size_t i = 0; i < reads.size(); ++i) {
    ASSERT_EQ(results_[i], 4096);
    ASSERT_TRUE(file_.Holds(reads[i].data, reads[i].offset, 4096));
  }
}

TEST_F(PreadEngineTest, GivesTheErrnoOfTheKernel) {
  Make(2);
  EngineRead read;
  read.data = nullptr;
  read.bytes = 4096;
  engine_->Submit({&read, 1});
  ASSERT_TRUE(WaitFor(1));
  EXPECT_EQ(results_[0], -EFAULT);
}

}  // namespace
}  // namespace penstock::io
