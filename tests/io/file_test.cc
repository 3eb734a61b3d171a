#include "io/file.h"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "io/options.h"
#include "io/reader.h"
#include "tests/io/random_file.h"
#include "tests/io/reader_probe.h"

namespace penstock::io {
namespace {

using Paths = std::vector<std::string>;

int RefusalOf(const Paths& paths, DirectMode mode, std::string* message,
              const TestRead& test_read = TestReadOf) {
  auto files = FileSet::Open(paths, mode, {}, test_read);
  if (files) return -1;
  *message = files.error().message;
  return ExitCode(files.error());
}

bool IsDirect(int fd) { return (fcntl(fd, F_GETFL) & O_DIRECT) != 0; }

// Whether this folder's file system really reads directly.
bool OffersDirectReads(const std::string& folder) {
  const RandomFile file(8192, 1, folder);
  return FileSet::Open(Paths{file.path()}, DirectMode::kAlways, {}).has_value();
}

TEST(FileSet, NamesTheFileItRefuses) {
  const std::string folder = ::testing::TempDir() + "/penstock_file_test";
  mkdir(folder.c_str(), 0755);
  const std::string fifo = folder + "/fifo";
  unlink(fifo.c_str());
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  for (const std::string& path : {folder + "/missing", folder, fifo, std::string("/dev/null")}) {
    std::string message;
    EXPECT_EQ(RefusalOf({path}, DirectMode::kAuto, &message), 2) << path;
    EXPECT_NE(message.find(path), std::string::npos) << message;
  }
  unlink(fifo.c_str());
  rmdir(folder.c_str());
}

TEST(FileSet, KnowsSizesAndDevices) {
  const RandomFile first(10'000, 1), second(0, 2);
  auto files = FileSet::Open(Paths{first.path(), second.path()}, DirectMode::kNever, {});
  ASSERT_TRUE(files);
  EXPECT_EQ(files->size(), 2u);
  EXPECT_EQ((*files)[0].bytes, 10'000u);
  EXPECT_EQ((*files)[1].bytes, 0u);
  EXPECT_EQ(files->device_count(), 1u);
  EXPECT_EQ(files->direct_count(), 0u);
  EXPECT_EQ(files->Alignment(), 4096u);
  EXPECT_EQ(files->RoundedBytes({0, 4095, 2}), 8192u);
  EXPECT_EQ(files->RoundedBytes({0, 4096, 0}), 0u);
}

TEST(FileSet, FilesOnTwoFileSystemsAreTwoDevices) {
  struct statfs facts = {};
  if (statfs("/dev/shm", &facts) != 0 || access("/dev/shm", W_OK) != 0) {
    GTEST_SKIP() << "no /dev/shm";
  }
  const RandomFile here(10, 1), there(10, 2, "/dev/shm");
  auto files = FileSet::Open(Paths{here.path(), there.path(), here.path()}, DirectMode::kNever, {});
  ASSERT_TRUE(files);
  EXPECT_EQ(files->device_count(), 2u);
  EXPECT_EQ((*files)[0].device, (*files)[2].device);
}

TEST(FileSet, ParsesTheModeAsTheFlagSpellsIt) {
  EXPECT_EQ(*ParseDirectMode("auto"), DirectMode::kAuto);
  EXPECT_EQ(*ParseDirectMode("0"), DirectMode::kNever);
  EXPECT_EQ(*ParseDirectMode("1"), DirectMode::kAlways);
  EXPECT_FALSE(ParseDirectMode("on"));
}

TEST(DiskFileSet, ReadsDirectlyWhereTheFileAllows) {
  if (!OffersDirectReads(::testing::TempDir())) GTEST_SKIP() << "no direct reads in TempDir";
  const RandomFile file(100'000, 3), empty(0, 4);
  Notices notices;
  auto files = FileSet::Open(Paths{file.path(), empty.path()}, DirectMode::kAuto, notices.Sink());
  ASSERT_TRUE(files);
  EXPECT_TRUE((*files)[0].direct);
  EXPECT_TRUE(IsDirect((*files)[0].fd));
  EXPECT_GE((*files)[0].alignment, 512u);
  EXPECT_EQ(files->direct_count(), 2u);
  EXPECT_EQ(notices.All(), "");
}

TEST(DiskFileSet, NeverReadsDirectlyWhenToldNotTo) {
  const RandomFile file(100'000, 3);
  auto files = FileSet::Open(Paths{file.path()}, DirectMode::kNever, {});
  ASSERT_TRUE(files);
  EXPECT_FALSE((*files)[0].direct);
  EXPECT_FALSE(IsDirect((*files)[0].fd));
}

TEST(FaultFileSet, AFailedTestReadFallsBackForThatFileAloneAndSaysSoOnce) {
  if (!OffersDirectReads(::testing::TempDir())) GTEST_SKIP() << "no direct reads in TempDir";
  const RandomFile good(50'000, 5), bad(50'000, 6);
  int calls = 0;
  const TestRead second_fails = [&](int fd, std::byte* buffer, size_t bytes) {
    return ++calls == 2 ? EIO : TestReadOf(fd, buffer, bytes);
  };
  Notices notices;
  auto files = FileSet::Open(Paths{good.path(), bad.path()}, DirectMode::kAuto, notices.Sink(),
                             second_fails);
  ASSERT_TRUE(files);
  EXPECT_TRUE((*files)[0].direct);
  EXPECT_FALSE((*files)[1].direct);
  EXPECT_FALSE(IsDirect((*files)[1].fd));
  EXPECT_EQ((*files)[1].alignment, 4096u);
  EXPECT_EQ(notices.Count(bad.path()), 1u) << notices.All();
  EXPECT_EQ(notices.Count(good.path()), 0u);

  // Both kinds of file are read in one reader.
  auto reader = MakeReader(IoOptions{}, std::move(*files), {}, {});
  ASSERT_TRUE(reader);
  Outcomes outcomes;
  for (FileId id : {0u, 1u}) {
    const Extent extent{id, 777, 40'000};
    (*reader)->Read(extent, BufferFor(**reader, extent), ReadClass::kTrunk, outcomes.Of(id));
  }
  ASSERT_TRUE(outcomes.WaitFor(2));
  EXPECT_TRUE(good.Holds(outcomes[0].bytes.data(), 777, 40'000));
  EXPECT_TRUE(bad.Holds(outcomes[1].bytes.data(), 777, 40'000));
}

TEST(FaultFileSet, DirectByOrderRefusesTheFileThatCannot) {
  const RandomFile file(50'000, 7);
  std::string message;
  EXPECT_EQ(RefusalOf({file.path()}, DirectMode::kAlways, &message,
                      [](int, std::byte*, size_t) { return EINVAL; }),
            2);
  EXPECT_NE(message.find(file.path()), std::string::npos);
}

TEST(FaultFileSet, AFileInMemoryIsNotDirect) {
  struct statfs facts = {};
  constexpr long kTmpfs = 0x01021994;
  if (statfs("/dev/shm", &facts) != 0 || facts.f_type != kTmpfs || access("/dev/shm", W_OK) != 0) {
    GTEST_SKIP() << "/dev/shm is no writable tmpfs";
  }
  const RandomFile file(100'003, 8, "/dev/shm");
  std::string message;
  EXPECT_EQ(RefusalOf({file.path()}, DirectMode::kAlways, &message), 2);
  EXPECT_NE(message.find(file.path()), std::string::npos);
  for (const char* engine : {"io_uring", "pread", "memory"}) {
    IoOptions options;
    options.ioengine = engine;
    Notices notices;
    auto reader = MakeReader(options, Paths{file.path()}, {}, notices.Sink());
    ASSERT_TRUE(reader);
    EXPECT_EQ(notices.Count(file.path()), 1u) << notices.All();
    Outcomes outcomes;
    const Extent extent{0, 5, 100'000 - 5};
    (*reader)->Read(extent, BufferFor(**reader, extent), ReadClass::kTrunk, outcomes.Of(0));
    ASSERT_TRUE(outcomes.WaitFor(1));
    EXPECT_TRUE(file.Holds(outcomes[0].bytes.data(), extent.offset, extent.bytes)) << engine;
  }
}

}  // namespace
}  // namespace penstock::io
