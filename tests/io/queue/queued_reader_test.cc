#include "io/queue/queued_reader.h"

#include <algorithm>
#include <cerrno>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/size.h"
#include "tests/io/random_file.h"
#include "tests/io/reader_probe.h"

namespace penstock::io {
namespace {

// An engine whose completions the test gives by hand. It reads nothing.
class HandEngine final : public Engine {
 public:
  void Start(Sink sink) override { sink_ = std::move(sink); }
  void Submit(std::span<const EngineRead> reads) override {
    const std::lock_guard lock(mutex_);
    for (const EngineRead& read : reads) reads_.push_back(read);
    all_.insert(all_.end(), reads.begin(), reads.end());
  }
  void Stop() override {
    while (Waiting() > 0) Complete(0, 0);
  }
  std::string Describe() const override { return "by hand"; }

  size_t Waiting() {
    const std::lock_guard lock(mutex_);
    return reads_.size();
  }
  EngineRead At(size_t index) {
    const std::lock_guard lock(mutex_);
    return reads_[index];
  }
  std::vector<EngineRead> All() {
    const std::lock_guard lock(mutex_);
    return all_;
  }
  // Completes the `index`-th read in flight, counted from the oldest.
  void Complete(size_t index, int64_t result) {
    std::unique_lock lock(mutex_);
    const EngineRead read = reads_[index];
    reads_.erase(reads_.begin() + static_cast<int64_t>(index));
    lock.unlock();
    const Completion completion{read.cookie, result, read.data};
    sink_({&completion, 1});
  }
  void CompleteWhole(size_t index) { Complete(index, At(index).bytes); }

 private:
  Sink sink_;
  std::mutex mutex_;
  std::deque<EngineRead> reads_;
  std::vector<EngineRead> all_;
};

// Reads of 8 KiB, two of them in the window, from a file of 1 MiB whose alignment is 4096.
class HandReader : public ::testing::Test {
 protected:
  void SetUp() override { MakeReaderOf(file_.path(), 8 * kKiB, 16 * kKiB); }

  void MakeReaderOf(const std::string& path, uint64_t block, uint64_t window) {
    auto files = FileSet::Open(std::vector{path}, DirectMode::kNever, {});
    ASSERT_TRUE(files);
    auto engine = std::make_unique<HandEngine>();
    engine_ = engine.get();
    auto reader = QueuedReader::Make(std::make_unique<FileSet>(std::move(*files)),
                                     std::move(engine), block, Window{window});
    ASSERT_TRUE(reader);
    reader_ = std::move(*reader);
  }

  ReadId Read(const Extent& extent, ReadClass read_class, size_t index) {
    return reader_->Read(extent, BufferFor(*reader_, extent), read_class, outcomes_.Of(index));
  }

  // Waits until the delay line has brought a read back.
  void AwaitSubmission() {
    for (int i = 0; i < 20'000 && engine_->Waiting() == 0; ++i) usleep(500);
    ASSERT_GT(engine_->Waiting(), 0u);
  }

  const RandomFile file_{1 << 20, 1};
  HandEngine* engine_ = nullptr;
  Outcomes outcomes_;
  std::unique_ptr<Reader> reader_;
};

using FaultQueuedReader = HandReader;
using QueuedReaderOrder = HandReader;

TEST_F(QueuedReaderOrder, SubmitsByClassAndFinishesWhenAllPiecesAreThere) {
  Read({0, 0, 24 * kKiB}, ReadClass::kTrunk, 0);              // Three pieces, two may go.
  Read({0, 100 * kKiB, 8 * kKiB}, ReadClass::kPredicted, 1);  // Waits.
  Read({0, 200 * kKiB, 8 * kKiB}, ReadClass::kTrunk, 2);      // Waits.
  EXPECT_EQ(engine_->Waiting(), 2u);
  Read({0, 300 * kKiB, 8 * kKiB}, ReadClass::kDemanded, 3);  // Goes at once.
  ASSERT_EQ(engine_->Waiting(), 3u);
  EXPECT_EQ(engine_->At(2).offset, 300 * kKiB);
  engine_->CompleteWhole(2);
  EXPECT_EQ(outcomes_.order(), (std::vector<size_t>{3}));
  engine_->CompleteWhole(1);  // The second piece before the first.
  EXPECT_EQ(engine_->At(1).offset, 16 * kKiB);
  engine_->CompleteWhole(0);
  EXPECT_EQ(engine_->At(1).offset, 200 * kKiB);
  engine_->CompleteWhole(0);
  EXPECT_EQ(outcomes_.order(), (std::vector<size_t>{3, 0}));
  while (engine_->Waiting() > 0) engine_->CompleteWhole(0);
  EXPECT_EQ(outcomes_.order(), (std::vector<size_t>{3, 0, 2, 1}));
}

TEST_F(QueuedReaderOrder, RaiseLetsAWaitingReadGo) {
  Read({0, 0, 16 * kKiB}, ReadClass::kTrunk, 0);
  const ReadId waiting = Read({0, 100 * kKiB, 16 * kKiB}, ReadClass::kPredicted, 1);
  EXPECT_EQ(engine_->Waiting(), 2u);
  reader_->Raise(waiting, ReadClass::kDemanded);
  ASSERT_EQ(engine_->Waiting(), 4u);
  EXPECT_EQ(engine_->At(2).offset, 100 * kKiB);
  EXPECT_EQ(engine_->At(3).offset, 108 * kKiB);
  reader_->Raise(waiting, ReadClass::kDemanded);  // Nothing left to raise,
  reader_->Raise(999, ReadClass::kDemanded);      // nobody of that name.
  EXPECT_EQ(engine_->Waiting(), 4u);
}

TEST_F(QueuedReaderOrder, CancelDropsOnlyWhatHasNotStarted) {
  Read({0, 0, 16 * kKiB}, ReadClass::kTrunk, 0);
  const ReadId waiting = Read({0, 100 * kKiB, 8 * kKiB}, ReadClass::kPredicted, 1);
  const ReadId started = Read({0, 200 * kKiB, 24 * kKiB}, ReadClass::kTrunk, 2);
  engine_->CompleteWhole(0);
  EXPECT_TRUE(reader_->Cancel(waiting));
  EXPECT_FALSE(reader_->Cancel(waiting));
  EXPECT_FALSE(reader_->Cancel(started));
  EXPECT_FALSE(reader_->Cancel(999));
  ASSERT_TRUE(outcomes_.WaitFor(1));
  EXPECT_EQ(outcomes_[1].error->code, ErrorCode::kCancelled);
  EXPECT_NE(outcomes_[1].thread, std::this_thread::get_id());
  while (engine_->Waiting() > 0) engine_->CompleteWhole(0);
  EXPECT_EQ(outcomes_.calls(), 3u);
  // What never started was never counted.
  EXPECT_EQ(reader_->counters().payload_bytes, 40 * kKiB);
  EXPECT_EQ(reader_->counters().device_bytes, 40 * kKiB);
}

using QueuedReaderStats = HandReader;

TEST_F(QueuedReaderStats, ADeviceTellsWhatItDid) {
  Read({0, 100, 24 * kKiB}, ReadClass::kTrunk, 0);  // 28 KiB from the device in four pieces.
  DeviceStats stats = reader_->devices().at(0);
  EXPECT_EQ(stats.window_bytes, 16 * kKiB);
  EXPECT_EQ(stats.payload_bytes, 24 * kKiB);
  EXPECT_EQ(stats.device_bytes, 16 * kKiB);
  EXPECT_EQ(stats.in_flight_bytes, 16 * kKiB);
  EXPECT_EQ(stats.in_flight_reads, 2u);
  Read({0, 0, 8 * kKiB}, ReadClass::kDemanded, 1);
  EXPECT_EQ(reader_->devices().at(0).in_flight_reads, 3u);
  engine_->Complete(0, 4096);  // The rest of it is still in flight.
  EXPECT_EQ(reader_->devices().at(0).in_flight_bytes, 24 * kKiB);
  while (engine_->Waiting() > 0) engine_->CompleteWhole(0);
  stats = reader_->devices().at(0);
  EXPECT_EQ(stats.device_bytes, 36 * kKiB);
  EXPECT_EQ(stats.reads, 5u);
  EXPECT_EQ(stats.in_flight_bytes, 0u);
  EXPECT_EQ(stats.latency[0].total(), 1u);
  EXPECT_EQ(stats.latency[1].total(), 1u);
  EXPECT_EQ(stats.latency[2].total(), 0u);
  EXPECT_GT(stats.depth_bytes_ns, 0u);
  EXPECT_GE(stats.busy_ns, stats.full_ns);
  EXPECT_EQ(reader_->counters().device_bytes, 36 * kKiB);
  EXPECT_EQ(reader_->counters().reads, 5u);
  // Idle time is nobody's.
  EXPECT_EQ(reader_->devices().at(0).busy_ns, stats.busy_ns);
}

TEST_F(QueuedReaderStats, TheDeviceIsFullWhileAReadWaitsForTheWindow) {
  Read({0, 0, 8 * kKiB}, ReadClass::kTrunk, 0);
  Read({0, 8 * kKiB, 4 * kKiB}, ReadClass::kTrunk, 1);  // 12 of 16 KiB.
  usleep(1000);
  EXPECT_EQ(reader_->devices().at(0).full_ns, 0u);
  Read({0, 16 * kKiB, 8 * kKiB}, ReadClass::kTrunk, 2);  // Does not fit.
  EXPECT_EQ(engine_->Waiting(), 2u);
  usleep(1000);
  EXPECT_GT(reader_->devices().at(0).full_ns, 900'000u);
}

TEST_F(QueuedReaderStats, LatencyIsThatOfWholeReadsOnly) {
  Read({0, 0, 8 * kKiB}, ReadClass::kDemanded, 0);
  engine_->Complete(0, -EIO);
  const ReadId waiting = [&] {
    Read({0, 0, 16 * kKiB}, ReadClass::kTrunk, 1);
    return Read({0, 16 * kKiB, 8 * kKiB}, ReadClass::kPredicted, 2);
  }();
  EXPECT_TRUE(reader_->Cancel(waiting));
  while (engine_->Waiting() > 0) engine_->CompleteWhole(0);
  const DeviceStats stats = reader_->devices().at(0);
  EXPECT_EQ(stats.latency[0].total(), 0u);
  EXPECT_EQ(stats.latency[1].total(), 1u);
  EXPECT_EQ(stats.latency[2].total(), 0u);
}

TEST_F(QueuedReaderStats, AnObserverSeesEveryReadOfTheEngine) {
  std::vector<ReadSpan> spans;
  Read({0, 0, 8 * kKiB}, ReadClass::kTrunk, 0);
  engine_->CompleteWhole(0);
  reader_->Observe([&](const ReadSpan& span) { spans.push_back(span); });
  Extent extent{0, 8 * kKiB, 16 * kKiB};
  extent.tag = 7;
  const ReadId raised = Read(extent, ReadClass::kPredicted, 1);
  reader_->Raise(raised, ReadClass::kDemanded);
  engine_->CompleteWhole(1);
  engine_->Complete(0, -EIO);
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].device, 0u);
  EXPECT_EQ(spans[0].file, 0u);
  EXPECT_EQ(spans[0].tag, 7u);
  EXPECT_EQ(spans[0].read_class, ReadClass::kPredicted);
  EXPECT_EQ(spans[0].bytes, 8 * kKiB);
  EXPECT_EQ(spans[0].in_flight_bytes, 8 * kKiB);
  EXPECT_GT(spans[0].queued_ns, 0u);
  EXPECT_LE(spans[0].queued_ns, spans[0].submitted_ns);
  EXPECT_LE(spans[0].submitted_ns, spans[0].completed_ns);
  EXPECT_EQ(spans[1].bytes, 0u);
  EXPECT_EQ(spans[1].in_flight_bytes, 0u);
  reader_->Observe({});
  Read({0, 0, 8 * kKiB}, ReadClass::kTrunk, 2);
  engine_->CompleteWhole(0);
  EXPECT_EQ(spans.size(), 2u);
}

TEST_F(QueuedReaderStats, KernelCountersStandBesideEveryDevice) {
  EXPECT_EQ(reader_->KernelDeviceBytes().size(), reader_->devices().size());
  const auto device = FindBlockDevice(file_.path());
  EXPECT_EQ(reader_->KernelDeviceBytes().at(0).has_value(), static_cast<bool>(device));
  EXPECT_EQ(reader_->devices().at(0).name, device ? device->name : "device 0");
}

TEST_F(FaultQueuedReader, ContinuesAShortReadAtAnAlignedOffset) {
  Read({0, 4 * kKiB, 8 * kKiB}, ReadClass::kTrunk, 0);
  engine_->Complete(0, 5000);
  ASSERT_EQ(engine_->Waiting(), 1u);
  const EngineRead rest = engine_->At(0);
  EXPECT_EQ(rest.offset, 8 * kKiB);
  EXPECT_EQ(rest.bytes, 4 * kKiB);
  EXPECT_EQ(rest.data, engine_->All()[0].data + 4 * kKiB);
  engine_->CompleteWhole(0);
  EXPECT_FALSE(outcomes_[0].error);
  EXPECT_EQ(reader_->counters().retries, 1u);
  EXPECT_EQ(reader_->counters().reads, 1u);
  EXPECT_EQ(reader_->counters().device_bytes, 8 * kKiB);
}

TEST_F(FaultQueuedReader, TwoReadsWithoutProgressAreTheEndOfTheFile) {
  Read({0, 0, 8 * kKiB}, ReadClass::kTrunk, 0);
  engine_->Complete(0, 5000);
  engine_->Complete(0, 0);
  engine_->Complete(0, 0);
  ASSERT_TRUE(outcomes_[0].error);
  EXPECT_EQ(outcomes_[0].error->code, ErrorCode::kFailed);
  EXPECT_NE(outcomes_[0].error->message.find(file_.path()), std::string::npos);
  EXPECT_NE(outcomes_[0].error->message.find("5000"), std::string::npos);
}

TEST_F(FaultQueuedReader, RepeatsAfterASignalAtOnceAndAfterEagainLater) {
  Read({0, 0, 8 * kKiB}, ReadClass::kTrunk, 0);
  engine_->Complete(0, -EINTR);
  EXPECT_EQ(engine_->Waiting(), 1u);
  engine_->Complete(0, -EAGAIN);
  AwaitSubmission();
  engine_->CompleteWhole(0);
  EXPECT_FALSE(outcomes_[0].error);
  EXPECT_EQ(reader_->counters().retries, 2u);
}

TEST_F(FaultQueuedReader, GivesUpOnEagainWithoutEnd) {
  Read({0, 0, 8 * kKiB}, ReadClass::kTrunk, 0);
  for (int i = 0; i < 100 && outcomes_.calls() == 0; ++i) {
    ASSERT_NO_FATAL_FAILURE(AwaitSubmission());
    engine_->Complete(0, -EAGAIN);
  }
  ASSERT_EQ(outcomes_.calls(), 1u);
  EXPECT_EQ(outcomes_[0].error->sys, EAGAIN);
}

TEST_F(FaultQueuedReader, TheFirstErrorWinsAndTheBufferLivesUntilTheLastCompletion) {
  const Extent extent{0, 0, 64 * kKiB};
  auto region = HugeRegion::Map(64 * kKiB);
  ASSERT_TRUE(region);
  auto owner = std::make_shared<HugeRegion>(std::move(*region));
  const std::weak_ptr<HugeRegion> watch = owner;
  std::byte* data = owner->data();
  reader_->Read(extent, MutableBuffer(data, 64 * kKiB, std::move(owner)), ReadClass::kDemanded,
                outcomes_.Of(0));
  ASSERT_EQ(engine_->Waiting(), 8u);
  engine_->Complete(3, -EIO);
  engine_->Complete(3, -ENOMEM);
  for (int left = 6; left > 0; --left) {
    EXPECT_EQ(outcomes_.calls(), 0u);
    EXPECT_FALSE(watch.expired());
    engine_->Complete(0, left % 2 == 0 ? 8 * 1024 : -EINTR);
  }
  EXPECT_EQ(engine_->Waiting(), 0u);  // Nothing is repeated for a request that failed.
  ASSERT_EQ(outcomes_.calls(), 1u);
  EXPECT_EQ(outcomes_[0].error->sys, EIO);
  EXPECT_NE(outcomes_[0].error->message.find(file_.path()), std::string::npos);
  EXPECT_NE(outcomes_[0].error->message.find(std::to_string(24 * kKiB)), std::string::npos);
  EXPECT_TRUE(watch.expired());
}

TEST_F(FaultQueuedReader, AnErrorKeepsWaitingPiecesFromTheDevice) {
  Read({0, 0, 64 * kKiB}, ReadClass::kTrunk, 0);
  Read({0, 100 * kKiB, 8 * kKiB}, ReadClass::kTrunk, 1);
  engine_->Complete(0, -EIO);
  ASSERT_EQ(engine_->Waiting(), 2u);
  EXPECT_EQ(engine_->At(1).offset, 100 * kKiB);
  engine_->CompleteWhole(0);
  engine_->CompleteWhole(0);
  EXPECT_EQ(outcomes_.calls(), 2u);
  EXPECT_TRUE(outcomes_[0].error);
  EXPECT_FALSE(outcomes_[1].error);
}

TEST_F(FaultQueuedReader, StopLetsReadsInFlightFinishAndRepeatsNone) {
  Read({0, 0, 8 * kKiB}, ReadClass::kTrunk, 0);
  Read({0, 8 * kKiB, 8 * kKiB}, ReadClass::kTrunk, 1);
  Read({0, 16 * kKiB, 8 * kKiB}, ReadClass::kTrunk, 2);
  Read({0, 24 * kKiB, 8 * kKiB}, ReadClass::kDemanded, 3);
  engine_->Complete(2, -EAGAIN);  // Sits in the delay line, perhaps.
  reader_->Stop();                // The hand engine answers what is left with short reads.
  ASSERT_EQ(outcomes_.calls(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(outcomes_[i].calls, 1);
    EXPECT_EQ(outcomes_[i].error->code, ErrorCode::kCancelled);
  }
}

TEST_F(FaultQueuedReader, ReadsOverTwoGigabytesInPiecesTheKernelTakes) {
  const uint64_t gib = uint64_t{1} << 30;
  std::string path = ::testing::TempDir() + "/penstock_sparse_XXXXXX";
  const int fd = mkstemp(path.data());
  ASSERT_GE(fd, 0);
  ASSERT_EQ(ftruncate(fd, static_cast<off_t>(12 * gib)), 0);
  close(fd);
  MakeReaderOf(path, 64 * gib, 64 * gib);
  unlink(path.c_str());
  const Extent extent{0, 5 * gib + 1000, 5 * gib};
  Read(extent, ReadClass::kTrunk, 0);
  uint64_t at = 5 * gib;
  while (engine_->Waiting() > 0) {
    const EngineRead read = engine_->At(0);
    EXPECT_EQ(read.offset, at);
    EXPECT_LE(read.bytes, 2 * gib - 4096);
    EXPECT_EQ(read.data, engine_->All()[0].data + (at - 5 * gib));
    at += read.bytes;
    engine_->CompleteWhole(0);
  }
  EXPECT_EQ(at, 10 * gib + 4096);
  EXPECT_FALSE(outcomes_[0].error);
  EXPECT_EQ(outcomes_[0].bytes.size(), 5 * gib);
}

}  // namespace
}  // namespace penstock::io
