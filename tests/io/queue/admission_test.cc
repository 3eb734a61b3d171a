// What the order of reads promises, exact in virtual time: the Reader over a device that serves a
// byte a nanosecond.

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "io/queue/queued_reader.h"
#include "runtime/size.h"
#include "tests/io/queue/virtual_device.h"
#include "tests/io/random_file.h"

namespace penstock::io {
namespace {

constexpr uint64_t kBlock = 4 * kMiB;
constexpr uint64_t kWindow = 8 * kMiB;
constexpr uint64_t kDemandedBytes = 17'547'264;  // 16.7 MiB, in five pieces.

class Admission : public ::testing::Test {
 protected:
  void MakeReader(uint64_t wake_up_ns, uint64_t window = kWindow) {
    auto files = FileSet::Open(std::vector{file_.path()}, DirectMode::kNever, {});
    ASSERT_TRUE(files);
    auto device = std::make_unique<VirtualDevice>(wake_up_ns);
    device_ = device.get();
    auto reader = QueuedReader::Make(std::make_unique<FileSet>(std::move(*files)),
                                     std::move(device), kBlock, Window{window});
    ASSERT_TRUE(reader);
    reader_ = std::move(*reader);
  }

  // Memory that nobody touches.
  MutableBuffer Buffer(uint64_t bytes) {
    return MutableBuffer(reinterpret_cast<std::byte*>(uintptr_t{1} << 40), bytes, nullptr);
  }

  void Read(uint64_t bytes, ReadClass read_class, std::function<void()> done) {
    reader_->Read({0, 0, bytes}, Buffer(RoundUp(bytes, 4096)), read_class,
                  [done = std::move(done)](Result<BufferRef>) { done(); });
  }

  // From here on `waiting` reads of the class wait or are in flight, each of `size()` bytes.
  void Saturate(ReadClass read_class, size_t waiting, std::function<uint64_t()> size) {
    sizes_.push_back(std::make_unique<std::function<uint64_t()>>(std::move(size)));
    for (size_t i = 0; i < waiting; ++i) Next(read_class, sizes_.back().get());
  }

  // When a demanded read that is asked for now has come.
  uint64_t Demand(uint64_t bytes) {
    const uint64_t before = device_->in_flight_bytes();
    uint64_t end = 0;
    Read(bytes, ReadClass::kDemanded, [&] { end = device_->now(); });
    // All of it is with the device before anything else happens.
    EXPECT_EQ(device_->in_flight_bytes() - before, RoundUp(bytes, 4096));
    while (end == 0) device_->Step();
    return end;
  }

  const RandomFile file_{4096, 1};
  VirtualDevice* device_ = nullptr;
  bool stopping_ = false;
  std::vector<std::unique_ptr<std::function<uint64_t()>>> sizes_;
  std::unique_ptr<Reader> reader_;

  void TearDown() override { stopping_ = true; }

 private:
  void Next(ReadClass read_class, std::function<uint64_t()>* size) {
    Read((*size)(), read_class, [this, read_class, size] {
      if (!stopping_) Next(read_class, size);
    });
  }
};

TEST_F(Admission, ADemandedReadWaitsForNoMoreThanTheWindow) {
  MakeReader(0);
  SCOPED_TRACE("seed 11");
  std::mt19937_64 random(11);
  Saturate(ReadClass::kTrunk, 32, [&] { return 1 + random() % (12 * kMiB); });
  Saturate(ReadClass::kPredicted, 8, [] { return kDemandedBytes; });
  constexpr uint64_t kBound = kWindow + RoundUp(kDemandedBytes, 4096);
  std::vector<uint64_t> took;
  for (int i = 0; i < 3000; ++i) {
    device_->RunUntil(device_->now() + random() % (40 * kMiB));
    EXPECT_LE(device_->in_flight_bytes(), kWindow);
    const uint64_t start = device_->now();
    took.push_back(Demand(kDemandedBytes) - start);
    ASSERT_LE(took.back(), kBound);
  }
  std::sort(took.begin(), took.end());
  EXPECT_LE(static_cast<double>(took[took.size() * 99 / 100]), 1.2 * kBound);
  // The device was busy when the demand came: else the bound would mean nothing.
  EXPECT_GT(took[took.size() / 2], kDemandedBytes + kWindow / 3);
}

TEST_F(Admission, DemandedReadsThatComeTogetherWaitForTheWindowOnce) {
  MakeReader(0);
  Saturate(ReadClass::kTrunk, 32, [] { return 8 * kMiB; });
  device_->RunUntil(100 * kMiB + 12345);
  const uint64_t start = device_->now();
  std::vector<uint64_t> ends;
  for (int i = 0; i < 16; ++i) {
    Read(kDemandedBytes, ReadClass::kDemanded, [&] { ends.push_back(device_->now()); });
  }
  while (ends.size() < 16) device_->Step();
  for (size_t i = 0; i < 16; ++i) {
    EXPECT_LE(ends[i] - start, kWindow + (i + 1) * RoundUp(kDemandedBytes, 4096));
  }
}

TEST_F(Admission, TheTrunkKeepsTheDeviceBusyWhileWakeUpsAreLate) {
  for (const uint64_t extent :
       {kMiB, 3 * kMiB, 4 * kMiB, 4 * kMiB + 9000, 5 * kMiB, 8 * kMiB, 8 * kMiB + 9000}) {
    MakeReader(700'000);
    Saturate(ReadClass::kTrunk, 32, [&] { return extent; });
    device_->RunUntil(2000 * kMiB);
    EXPECT_LE(device_->idle_ns(), device_->now() / 50) << extent;
    stopping_ = true;
    reader_->Stop();
    stopping_ = false;
  }
}

TEST_F(Admission, PredictedReadsTakeOnlyWhatTheTrunkLeaves) {
  MakeReader(0);
  uint64_t trunk = 0, predicted = 0;
  Saturate(ReadClass::kPredicted, 8, [&] {
    predicted += kDemandedBytes;
    return kDemandedBytes;
  });
  const uint64_t before = predicted;
  Saturate(ReadClass::kTrunk, 8, [&] {
    trunk += kBlock;
    return kBlock;
  });
  device_->RunUntil(1000 * kMiB);
  EXPECT_EQ(predicted, before);  // Not one ends while trunk reads wait.
  EXPECT_GE(trunk, 900 * kMiB);
  EXPECT_EQ(device_->idle_ns(), 0u);
}

TEST_F(Admission, TwoReadsAreTheSmallestWindow) {
  MakeReader(100'000, 1);
  Saturate(ReadClass::kTrunk, 8, [] { return kBlock; });
  device_->RunUntil(200 * kMiB);
  EXPECT_EQ(device_->in_flight_bytes(), 2 * kBlock);
  EXPECT_EQ(device_->idle_ns(), 0u);
  const uint64_t start = device_->now();
  EXPECT_LE(Demand(kBlock) - start, 3 * kBlock + 100'000);
}

}  // namespace
}  // namespace penstock::io
