#include "io/reader.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "io/file.h"
#include "io/options.h"
#include "io/queue/piece.h"
#include "tests/io/random_file.h"
#include "tests/io/reader_probe.h"

namespace penstock::io {
namespace {

std::unique_ptr<Reader> Make(const IoOptions& options, const std::vector<std::string>& paths,
                             std::span<const Region> regions = {}, const Notice& notice = {}) {
  auto reader = MakeReader(options, paths, regions, notice, "layer");
  EXPECT_TRUE(reader) << (reader ? "" : reader.error().message);
  return reader ? std::move(*reader) : nullptr;
}

class ReaderOverEngines : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Engines, ReaderOverEngines,
                         ::testing::Values("io_uring", "pread", "memory"),
                         [](const auto& param) { return param.param; });

TEST_P(ReaderOverEngines, BringsExactlyTheBytesOfEachExtent) {
  const RandomFile first(1'000'003, 1), second(4096, 2), third(70, 3);
  auto reader = Make(OptionsOf(GetParam()), {first.path(), second.path(), third.path()});
  ASSERT_TRUE(reader);
  const std::vector<const RandomFile*> files = {&first, &second, &third};
  const std::vector<Extent> extents = {{0, 0, 1},           {0, 0, 1'000'003}, {0, 1'000'002, 1},
                                       {0, 4095, 2},        {0, 4096, 4096},   {0, 65'536, 65'536},
                                       {0, 65'535, 65'538}, {1, 0, 4096},      {1, 4095, 1},
                                       {2, 0, 70},          {2, 69, 1},        {0, 500'000, 0},
                                       {0, 1'000'003, 0},   {0, 999'424, 579}};
  Outcomes outcomes;
  for (size_t i = 0; i < extents.size(); ++i) {
    reader->Read(extents[i], BufferFor(*reader, extents[i]), ReadClass::kTrunk, outcomes.Of(i));
  }
  ASSERT_TRUE(outcomes.WaitFor(extents.size()));
  for (size_t i = 0; i < extents.size(); ++i) {
    const auto outcome = outcomes[i];
    EXPECT_EQ(outcome.calls, 1);
    ASSERT_FALSE(outcome.error) << outcome.error->message;
    EXPECT_EQ(outcome.bytes.size(), extents[i].bytes);
    EXPECT_TRUE(
        files[extents[i].file]->Holds(outcome.bytes.data(), extents[i].offset, extents[i].bytes))
        << "extent " << i;
    EXPECT_NE(outcome.thread, std::this_thread::get_id());
  }
}

TEST_P(ReaderOverEngines, CountsPayloadAndRoundedBytesByFormula) {
  const RandomFile file(3'000'000, 4);
  const uint64_t block = 256 * kKiB;
  IoOptions options = OptionsOf(GetParam(), block);
  auto files = FileSet::Open(std::vector{file.path()}, DirectMode::kAuto, {});
  ASSERT_TRUE(files);
  const uint64_t alignment = (*files)[0].alignment;
  auto made = MakeReader(options, std::move(*files), {}, {});
  ASSERT_TRUE(made);
  Reader& reader = **made;
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  uint64_t payload = 0, device = 0, reads = 0;
  Outcomes outcomes;
  for (size_t i = 0; i < 50; ++i) {
    const uint64_t offset = random() % 2'000'000;
    const Extent extent{0, offset, random() % 1'000'000};
    const uint64_t rounded = extent.bytes == 0 ? 0
                                               : RoundUp(offset + extent.bytes, alignment) -
                                                     RoundDown(offset, alignment);
    payload += extent.bytes;
    device += rounded;
    reads += rounded == 0 ? 1 : (rounded + block - 1) / block;
    EXPECT_EQ(reader.BufferBytes(extent), rounded);
    reader.Read(extent, BufferFor(reader, extent), ReadClass::kDemanded, outcomes.Of(i));
  }
  ASSERT_TRUE(outcomes.WaitFor(50));
  EXPECT_EQ(reader.counters().payload_bytes, payload);
  EXPECT_EQ(reader.counters().device_bytes, device);
  EXPECT_EQ(reader.counters().reads, reads);
  EXPECT_EQ(reader.counters().retries, 0u);
}

TEST_P(ReaderOverEngines, KeepsTheBuffersOwnerWithTheBytes) {
  const RandomFile file(100'000, 5);
  auto reader = Make(OptionsOf(GetParam()), {file.path()});
  ASSERT_TRUE(reader);
  const Extent extent{0, 5000, 50'000};
  auto region = HugeRegion::Map(reader->BufferBytes(extent));
  ASSERT_TRUE(region);
  auto owner = std::make_shared<HugeRegion>(std::move(*region));
  const std::weak_ptr<HugeRegion> watch = owner;
  std::byte* data = owner->data();
  Outcomes outcomes;
  reader->Read(extent, MutableBuffer(data, reader->BufferBytes(extent), std::move(owner)),
               ReadClass::kTrunk, outcomes.Of(0));
  ASSERT_TRUE(outcomes.WaitFor(1));
  BufferRef bytes = outcomes.Take(0);
  EXPECT_EQ(bytes.owner(), watch.lock());
  bytes.reset();
  EXPECT_TRUE(watch.expired());
}

TEST_P(ReaderOverEngines, AnExtentBehindTheEndNamesTheFileAndBothSizes) {
  const RandomFile file(10'000, 6);
  auto reader = Make(OptionsOf(GetParam()), {file.path()});
  ASSERT_TRUE(reader);
  Outcomes outcomes;
  const std::vector<Extent> extents = {{0, 9'000, 1'001}, {0, 20'000, 10}, {0, 0, 300'000}};
  for (size_t i = 0; i < extents.size(); ++i) {
    reader->Read(extents[i], BufferFor(*reader, extents[i]), ReadClass::kTrunk, outcomes.Of(i));
  }
  ASSERT_TRUE(outcomes.WaitFor(extents.size()));
  for (size_t i = 0; i < extents.size(); ++i) {
    const auto outcome = outcomes[i];
    ASSERT_TRUE(outcome.error);
    EXPECT_EQ(outcome.error->code, ErrorCode::kFailed);
    EXPECT_NE(outcome.error->message.find(file.path()), std::string::npos);
    EXPECT_FALSE(outcome.bytes);
  }
  EXPECT_NE(outcomes[0].error->message.find("10000"), std::string::npos);
}

TEST_P(ReaderOverEngines, ReadsFromManyThreadsAtOnce) {
  const RandomFile file(2'000'000, 7);
  auto reader = Make(OptionsOf(GetParam(), 16 * kKiB), {file.path()});
  ASSERT_TRUE(reader);
  constexpr size_t kThreads = 4, kReads = 60;
  Outcomes outcomes;
  outcomes.Of(kThreads * kReads - 1);
  std::vector<Extent> extents(kThreads * kReads);
  std::mt19937_64 random(8);
  for (Extent& extent : extents) extent = {0, random() % 1'900'000, random() % 100'000};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = t * kReads; i < (t + 1) * kReads; ++i) {
        const auto read_class = static_cast<ReadClass>(i % 3);
        const ReadId id =
            reader->Read(extents[i], BufferFor(*reader, extents[i]), read_class, outcomes.Of(i));
        if (i % 5 == 0) reader->Raise(id, ReadClass::kDemanded);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(outcomes.WaitFor(extents.size()));
  for (size_t i = 0; i < extents.size(); ++i) {
    const auto outcome = outcomes[i];
    ASSERT_EQ(outcome.calls, 1);
    ASSERT_FALSE(outcome.error);
    ASSERT_TRUE(file.Holds(outcome.bytes.data(), extents[i].offset, extents[i].bytes));
  }
}

TEST_P(ReaderOverEngines, ADoneMayReadOn) {
  const RandomFile file(1'000'000, 9);
  auto reader = Make(OptionsOf(GetParam()), {file.path()});
  ASSERT_TRUE(reader);
  Outcomes outcomes;
  std::function<void(size_t)> next = [&](size_t i) {
    const Extent extent{0, i * 1000, 5000};
    Reader::Done done = outcomes.Of(i);
    reader->Read(extent, BufferFor(*reader, extent), ReadClass::kTrunk,
                 [&, i, done](Result<BufferRef> result) {
                   if (i + 1 < 100) next(i + 1);
                   done(std::move(result));
                 });
  };
  outcomes.Of(99);
  next(0);
  ASSERT_TRUE(outcomes.WaitFor(100));
  for (size_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(file.Holds(outcomes[i].bytes.data(), i * 1000, 5000));
  }
  reader->Stop();
}

TEST_P(ReaderOverEngines, StopAnswersEveryReadOnceAndNoneAfterwards) {
  const RandomFile file(2'000'000, 10);
  for (int round = 0; round < 20; ++round) {
    auto reader = Make(OptionsOf(GetParam(), 4 * kKiB), {file.path()});
    ASSERT_TRUE(reader);
    Outcomes outcomes;
    constexpr size_t kReads = 40;
    for (size_t i = 0; i < kReads; ++i) {
      const Extent extent{0, i * 40'000, 40'000};
      reader->Read(extent, BufferFor(*reader, extent), ReadClass::kTrunk, outcomes.Of(i));
    }
    reader->Stop();
    EXPECT_EQ(outcomes.calls(), kReads);
    for (size_t i = 0; i < kReads; ++i) {
      const auto outcome = outcomes[i];
      ASSERT_EQ(outcome.calls, 1);
      if (outcome.error) {
        EXPECT_EQ(outcome.error->code, ErrorCode::kCancelled);
      } else {
        EXPECT_TRUE(file.Holds(outcome.bytes.data(), i * 40'000, 40'000));
      }
    }
    const Extent late{0, 0, 10};
    reader->Read(late, BufferFor(*reader, late), ReadClass::kDemanded, outcomes.Of(kReads));
    EXPECT_EQ(outcomes[kReads].calls, 1);
    EXPECT_EQ(outcomes[kReads].error->code, ErrorCode::kCancelled);
    reader->Stop();
  }
}

TEST_P(ReaderOverEngines, TheDestructorWaitsForReadsInFlight) {
  const RandomFile file(4'000'000, 11);
  for (int round = 0; round < 20; ++round) {
    Outcomes outcomes;
    {
      auto reader = Make(OptionsOf(GetParam()), {file.path()});
      ASSERT_TRUE(reader);
      const Extent extent{0, 0, 4'000'000};
      reader->Read(extent, BufferFor(*reader, extent), ReadClass::kDemanded, outcomes.Of(0));
    }
    EXPECT_EQ(outcomes[0].calls, 1);
  }
}

TEST_P(ReaderOverEngines, UsesAnnouncedMemoryAndOtherMemoryAlike) {
  const RandomFile file(3'000'000, 12);
  auto region = HugeRegion::Map(4 * kMiB);
  ASSERT_TRUE(region);
  auto memory = std::make_shared<HugeRegion>(std::move(*region));
  const Region announced{memory->data(), memory->size()};
  Notices notices;
  auto reader = Make(OptionsOf(GetParam()), {file.path()}, {&announced, 1}, notices.Sink());
  ASSERT_TRUE(reader);
  Outcomes outcomes;
  const Extent extent{0, 12'345, 1'500'000};
  const size_t bytes = reader->BufferBytes(extent);
  reader->Read(extent, MutableBuffer(memory->data() + 8192, bytes, memory), ReadClass::kTrunk,
               outcomes.Of(0));
  reader->Read(extent, BufferFor(*reader, extent), ReadClass::kTrunk, outcomes.Of(1));
  ASSERT_TRUE(outcomes.WaitFor(2));
  EXPECT_TRUE(file.Holds(outcomes[0].bytes.data(), extent.offset, extent.bytes));
  EXPECT_TRUE(file.Holds(outcomes[1].bytes.data(), extent.offset, extent.bytes));
  if (GetParam() == "io_uring") {
    EXPECT_NE(reader->Describe().find("fixed buffers, fixed files"), std::string::npos)
        << reader->Describe() << notices.All();
  }
}

TEST(Reader, RefusesOptionsThatCannotWork) {
  const RandomFile file(10, 13);
  const std::vector<std::string> paths = {file.path()};
  const auto code = [&](auto change) {
    IoOptions options;
    options.ioengine = "pread";
    change(options);
    auto reader = MakeReader(options, paths, {}, {});
    return reader ? -1 : ExitCode(reader.error());
  };
  EXPECT_EQ(code([](IoOptions&) {}), -1);
  EXPECT_EQ(code([](IoOptions& o) { o.bs.bytes = 4095; }), 2);
  EXPECT_EQ(code([](IoOptions& o) { o.bs.bytes = 6 * kKiB; }), 2);
  EXPECT_EQ(code([](IoOptions& o) { o.bs.bytes = 0; }), 2);
  EXPECT_EQ(code([](IoOptions& o) { o.bs.bytes = 128 * kMiB; }), 2);
  EXPECT_EQ(code([](IoOptions& o) { o.iodepth = 4097; }), 2);
  EXPECT_EQ(code([](IoOptions& o) { o.ioengine = "libaio"; }), 2);
  EXPECT_EQ(code([](IoOptions& o) { o.direct = "yes"; }), 2);
  EXPECT_EQ(code([](IoOptions& o) { o.pace = "fast"; }), 2);
  EXPECT_EQ(code([](IoOptions& o) { o.fault = "shrt"; }), 2);
  EXPECT_EQ(code([](IoOptions& o) { o.cpus_io = "0-"; }), 2);
  EXPECT_EQ(code([](IoOptions& o) { o.cpus_io = "8191"; }), 2);
}

}  // namespace
}  // namespace penstock::io
