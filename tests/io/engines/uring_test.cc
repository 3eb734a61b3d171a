#include "io/engines/uring.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io/options.h"
#include "tests/io/random_file.h"
#include "tests/io/reader_probe.h"

namespace penstock::io {
namespace {

// From here on this process is refused one system call, as in a container.
void Forbid(unsigned number) {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter = {4, program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    std::perror("seccomp");
    _exit(99);
  }
}

// Reads the whole file through `reader`; whether its bytes arrived.
bool ReadsWell(Reader* reader, const RandomFile& file) {
  Outcomes outcomes;
  const Extent extent{0, 0, file.size()};
  reader->Read(extent, BufferFor(*reader, extent), ReadClass::kTrunk, outcomes.Of(0));
  if (!outcomes.WaitFor(1)) return false;
  const auto outcome = outcomes[0];
  return !outcome.error && file.Holds(outcome.bytes.data(), 0, file.size());
}

class FaultUring : public ::testing::Test {
 protected:
  FaultUring() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

// Runs in a child process, because the filter stays. 0 when all went as it should.
int TryForbidden(unsigned number) {
  const RandomFile file(300'000, 1);
  const std::vector<std::string> paths = {file.path()};
  Forbid(number);
  IoOptions options;
  options.ioengine = "io_uring";
  const auto refused = MakeReader(options, paths, {}, {});
  if (refused || ExitCode(refused.error()) != 2) return 1;
  if (refused.error().message.find("seccomp") == std::string::npos) return 2;
  if (refused.error().message.find("--ioengine pread") == std::string::npos) return 3;
  options.ioengine = "auto";
  Notices notices;
  const auto degraded = MakeReader(options, paths, {}, notices.Sink());
  if (!degraded) return 4;
  if ((*degraded)->Describe().find("pread") == std::string::npos) return 5;
  if (notices.Count("seccomp") != 1) return 6;
  return ReadsWell(degraded->get(), file) ? 0 : 7;
}

TEST_F(FaultUring, ForbiddenByAFilterIsRefusedByNameAndDegradedByAuto) {
  EXPECT_EXIT(_exit(TryForbidden(SYS_io_uring_setup)), ::testing::ExitedWithCode(0), "");
}

TEST_F(FaultUring, AFilterThatForbidsOnlyTheUseIsFoundAtStart) {
  EXPECT_EXIT(_exit(TryForbidden(SYS_io_uring_enter)), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(_exit(TryForbidden(SYS_io_uring_register)), ::testing::ExitedWithCode(0), "");
}

TEST_F(FaultUring, ExplainsEveryRefusalWithARemedy) {
  EXPECT_NE(ExplainUringRefusal(EPERM, "2\n").find("io_uring_disabled = 2"), std::string::npos);
  EXPECT_NE(ExplainUringRefusal(EPERM, "1\n").find("io_uring_disabled = 1"), std::string::npos);
  EXPECT_NE(ExplainUringRefusal(EPERM, "0\n").find("seccomp"), std::string::npos);
  EXPECT_NE(ExplainUringRefusal(EPERM, "").find("seccomp"), std::string::npos);
  EXPECT_NE(ExplainUringRefusal(ENOSYS, "").find("kernel"), std::string::npos);
  EXPECT_NE(ExplainUringRefusal(ENOMEM, "").find("ulimit -l"), std::string::npos);
  for (int sys : {EPERM, EACCES, ENOSYS, ENOMEM, EMFILE}) {
    EXPECT_NE(ExplainUringRefusal(sys, "").find("--ioengine pread"), std::string::npos);
  }
}

// An engine over one file with announced memory, whose registrations answer as told.
class FaultUringRegistration : public FaultUring {
 protected:
  void SetUp() override {
    auto files = FileSet::Open(std::vector{file_.path()}, DirectMode::kAuto, {});
    ASSERT_TRUE(files);
    files_ = std::move(*files);
    auto memory = HugeRegion::Map(4 * kMiB);
    ASSERT_TRUE(memory);
    memory_ = std::move(*memory);
    region_ = {memory_.data(), memory_.size()};
  }

  std::unique_ptr<Engine> Make(const UringRegistration& registration) {
    EngineSetup setup;
    setup.files = &files_;
    setup.regions = {&region_, 1};
    setup.notice = notices_.Sink();
    auto engine = MakeUringEngine(setup, registration);
    EXPECT_TRUE(engine);
    return engine ? std::move(*engine) : nullptr;
  }

  // Reads 1 MiB into announced memory; whether the bytes arrived.
  bool Works(Engine* engine) {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<Completion> got;
    engine->Start([&](std::span<const Completion> batch) {
      const std::lock_guard lock(mutex);
      got.insert(got.end(), batch.begin(), batch.end());
      changed.notify_one();
    });
    EngineRead read;
    read.data = memory_.data();
    read.bytes = kMiB;
    engine->Submit({&read, 1});
    std::unique_lock lock(mutex);
    changed.wait_for(lock, std::chrono::minutes(1), [&] { return !got.empty(); });
    return got.size() == 1 && got[0].result == kMiB && got[0].data == memory_.data() &&
           file_.Holds(memory_.data(), 0, kMiB);
  }

  const RandomFile file_{2 << 20, 2};
  FileSet files_;
  HugeRegion memory_;
  Region region_;
  Notices notices_;
};

int RefuseBuffers(io_uring*, const iovec*, unsigned) { return -ENOMEM; }
int RefuseFiles(io_uring*, const int*, unsigned) { return -EMFILE; }

TEST_F(FaultUringRegistration, TooLittleLockableMemoryReadsPlainlyAndSaysSoOnce) {
  auto engine = Make({RefuseBuffers, {}});
  ASSERT_TRUE(engine);
  EXPECT_EQ(notices_.Count("ulimit -l"), 1u) << notices_.All();
  EXPECT_EQ(notices_.Count("plain buffers"), 1u) << notices_.All();
  EXPECT_EQ(engine->Describe(), "io_uring, plain buffers, fixed files");
  EXPECT_TRUE(Works(engine.get()));
}

TEST_F(FaultUringRegistration, NothingRegisteredIsToldInOneLine) {
  auto engine = Make({RefuseBuffers, RefuseFiles});
  ASSERT_TRUE(engine);
  EXPECT_EQ(notices_.Count("plain buffers and files"), 1u) << notices_.All();
  EXPECT_EQ(engine->Describe(), "io_uring, plain buffers, plain files");
  EXPECT_TRUE(Works(engine.get()));
}

TEST_F(FaultUringRegistration, RefusedFilesAreToldAlone) {
  auto engine = Make({{}, RefuseFiles});
  ASSERT_TRUE(engine);
  EXPECT_EQ(notices_.Count("plain files"), 1u) << notices_.All();
  EXPECT_EQ(engine->Describe(), "io_uring, fixed buffers, plain files");
  EXPECT_TRUE(Works(engine.get()));
}

// As nobody with 64 KiB of lockable memory: the real limit, which root does not feel.
int TryUnderLimit() {
  const RandomFile file(2 << 20, 3);
  auto files = FileSet::Open(std::vector{file.path()}, DirectMode::kAuto, {});
  auto memory = HugeRegion::Map(8 * kMiB);
  if (!files || !memory) return 1;
  const rlimit limit = {64 << 10, 64 << 10};
  if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0) return 2;
  if (geteuid() == 0 &&
      (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0))
    return 3;
  const Region region{memory->data(), memory->size()};
  IoOptions options;
  options.ioengine = "io_uring";
  Notices notices;
  const auto reader = MakeReader(options, std::move(*files), {&region, 1}, notices.Sink());
  if (!reader) return 4;
  if (notices.Count("ulimit -l") != 1) return 5;
  if ((*reader)->Describe().find("plain buffers") == std::string::npos) return 6;
  return ReadsWell(reader->get(), file) ? 0 : 7;
}

TEST_F(FaultUring, AnUnprivilegedUserWithALowLimitStillReads) {
  EXPECT_EXIT(_exit(TryUnderLimit()), ::testing::ExitedWithCode(0), "");
}

TEST_F(FaultUringRegistration, MoreReadsThanTheRingHoldsAllComplete) {
  auto engine = Make({});
  ASSERT_TRUE(engine);
  constexpr size_t kReads = 5000;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<int> seen(kReads, 0);
  size_t count = 0;
  engine->Start([&](std::span<const Completion> batch) {
    const std::lock_guard lock(mutex);
    for (const Completion& completion : batch) {
      ++seen[completion.cookie];
      count += completion.result == 4096 ? 1 : 0;
    }
    changed.notify_one();
  });
  std::vector<EngineRead> reads(kReads);
  for (size_t i = 0; i < kReads; ++i) {
    reads[i].cookie = i;
    reads[i].offset = i % 512 * 4096;
    reads[i].data = memory_.data() + i % 1024 * 4096;
    reads[i].bytes = 4096;
  }
  engine->Submit(reads);
  {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, std::chrono::minutes(1), [&] { return count == kReads; }));
  }
  engine->Stop();
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<int64_t>(kReads));
}

}  // namespace
}  // namespace penstock::io
