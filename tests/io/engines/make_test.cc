#include "io/engines/make.h"

#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "io/options.h"
#include "io/queue/piece.h"
#include "tests/io/random_file.h"
#include "tests/io/reader_probe.h"

namespace penstock::io {
namespace {

// The kernel's own account of this process; empty where it keeps none.
std::map<std::string, uint64_t> KernelCounters() {
  std::ifstream file("/proc/self/io");
  std::map<std::string, uint64_t> counters;
  std::string name;
  for (uint64_t value = 0; file >> name >> value;)
    counters[name.substr(0, name.size() - 1)] = value;
  return counters;
}

// Reads `extents` and gives what the kernel counted meanwhile.
std::map<std::string, uint64_t> CountOnce(Reader* reader, const std::vector<Extent>& extents) {
  Outcomes outcomes;
  std::vector<MutableBuffer> buffers;
  for (const Extent& extent : extents) buffers.push_back(BufferFor(*reader, extent));
  const auto before = KernelCounters();
  for (size_t i = 0; i < extents.size(); ++i) {
    reader->Read(extents[i], std::move(buffers[i]), ReadClass::kTrunk, outcomes.Of(i));
  }
  EXPECT_TRUE(outcomes.WaitFor(extents.size()));
  auto after = KernelCounters();
  for (auto& [name, value] : after) value -= before.at(name);
  return after;
}

// The same after a first pass: the kernel also counts what it loads of this program on the way.
std::map<std::string, uint64_t> CountOf(Reader* reader, const std::vector<Extent>& extents) {
  CountOnce(reader, extents);
  return CountOnce(reader, extents);
}

// One test over all engines: what the kernel counts is the proof of how the bytes came.
class DiskEngines : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!KernelCounters().contains("read_bytes")) GTEST_SKIP() << "no /proc/self/io";
    auto files = FileSet::Open(std::vector{file_.path()}, DirectMode::kAuto, {});
    ASSERT_TRUE(files);
    if (!(*files)[0].direct) GTEST_SKIP() << "no direct reads in TempDir";
    alignment_ = (*files)[0].alignment;
    for (uint64_t i = 0; i < 64; ++i) extents_.push_back({0, i * 130'000 + 77, 100'000});
    for (const Extent& extent : extents_) {
      const uint64_t bytes =
          RoundUp(extent.offset + extent.bytes, alignment_) - RoundDown(extent.offset, alignment_);
      device_bytes_ += bytes;
      reads_ += (bytes + 65'535) / 65'536;
    }
  }
  std::unique_ptr<Reader> Make(const std::string& engine) {
    auto reader = MakeReader(OptionsOf(engine), std::vector{file_.path()}, {}, {});
    EXPECT_TRUE(reader);
    return std::move(*reader);
  }

  const RandomFile file_{9'000'000, 1};
  uint64_t alignment_ = 0, device_bytes_ = 0, reads_ = 0;
  std::vector<Extent> extents_;
};

TEST_F(DiskEngines, PreadGoesThroughPreadAndMovesTheRoundedBytes) {
  auto reader = Make("pread");
  auto counted = CountOf(reader.get(), extents_);
  EXPECT_EQ(counted["read_bytes"], device_bytes_);
  EXPECT_GE(counted["syscr"], reads_);
  EXPECT_EQ(reader->counters().device_bytes, 2 * device_bytes_);
  EXPECT_EQ(reader->counters().reads, 2 * reads_);
}

TEST_F(DiskEngines, UringGoesThroughTheRingAndMovesTheRoundedBytes) {
  auto reader = Make("io_uring");
  auto counted = CountOf(reader.get(), extents_);
  EXPECT_EQ(counted["read_bytes"], device_bytes_);
  EXPECT_LT(counted["syscr"], reads_ / 4);  // read(2) and its kin are not how it reads.
  EXPECT_EQ(reader->counters().device_bytes, 2 * device_bytes_);
}

TEST_F(DiskEngines, MemoryReadsNothingAfterTheImage) {
  auto reader = Make("memory");
  auto counted = CountOf(reader.get(), extents_);
  EXPECT_EQ(counted["read_bytes"], 0u);
  EXPECT_EQ(reader->counters().device_bytes, 2 * device_bytes_);
}

TEST_F(DiskEngines, ReadsBeyondFourGigabytes) {
  const uint64_t far = (uint64_t{5} << 30) + 4000;
  ASSERT_EQ(truncate(file_.path().c_str(), static_cast<off_t>(far + 200)), 0);
  {
    std::fstream file(file_.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(far));
    file << "far away";
  }
  for (const char* engine : {"io_uring", "pread"}) {
    auto reader = Make(engine);
    Outcomes outcomes;
    const Extent extent{0, far, 8};
    reader->Read(extent, BufferFor(*reader, extent), ReadClass::kTrunk, outcomes.Of(0));
    ASSERT_TRUE(outcomes.WaitFor(1));
    ASSERT_FALSE(outcomes[0].error);
    EXPECT_EQ(std::memcmp(outcomes[0].bytes.data(), "far away", 8), 0);
  }
}

TEST(FaultEngines, AFileThatShrinksWhileItIsReadIsAnError) {
  for (const char* engine : {"io_uring", "pread"}) {
    const RandomFile file(100'000, 4);
    auto reader = MakeReader(OptionsOf(engine), std::vector{file.path()}, {}, {});
    ASSERT_TRUE(reader);
    ASSERT_EQ(truncate(file.path().c_str(), 50'000), 0);
    Outcomes outcomes;
    const Extent extent{0, 0, 100'000};
    (*reader)->Read(extent, BufferFor(**reader, extent), ReadClass::kTrunk, outcomes.Of(0));
    ASSERT_TRUE(outcomes.WaitFor(1));
    ASSERT_TRUE(outcomes[0].error) << engine;
    EXPECT_NE(outcomes[0].error->message.find("50000"), std::string::npos);
  }
}

TEST(Engines, DescribeThemselvesWithTheirDecorators) {
  const RandomFile file(100'000, 8);
  IoOptions options = OptionsOf("pread");
  options.pace = "1G";
  options.fault = "delay=1us";
  auto reader = MakeReader(options, std::vector{file.path()}, {}, {});
  ASSERT_TRUE(reader);
  const std::string text = (*reader)->Describe();
  for (const char* part : {"pread", "paced to 1G/s", "delay=1us", "64k"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace penstock::io
