// --memory auto in a cgroup: the program itself, on a checkpoint three times larger than its group's
// limit, judged by the kernel's counters.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "models/k3/synth/synth.h"
#include "runtime/size.h"
#include "tests/models/k3/synth/large_checkpoint.h"

namespace penstock::k3 {
namespace {

// A memory cgroup below this process's own, of either version. Removed with its object.
class MemoryGroup {
 public:
  // Nothing where this process may not make one.
  static std::optional<MemoryGroup> Make(uint64_t limit) {
    std::ifstream lines("/proc/self/cgroup");
    for (std::string line; std::getline(lines, line);) {
      const size_t second = line.find(':', line.find(':') + 1);
      const bool v1 = line.find(":memory:") != std::string::npos;
      if (!v1 && line.substr(0, 3) != "0::") continue;
      const std::string path = line.substr(second + 1);
      const std::string mount = v1 ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup";
      for (const std::string& parent : {mount + path, mount}) {
        MemoryGroup group(parent + "/penstock_test_" + std::to_string(getpid()), v1);
        if (group.Limit(limit)) return group;
      }
    }
    return std::nullopt;
  }
  MemoryGroup(MemoryGroup&& other) noexcept : folder_(std::exchange(other.folder_, "")) {
    v1_ = other.v1_;
  }
  ~MemoryGroup() {
    if (!folder_.empty()) rmdir(folder_.c_str());
  }

  bool Enter() const { return Write("cgroup.procs", std::to_string(getpid())); }

  // Until the kernel has taken back what processes that are gone held: the registered buffers of
  // io_uring go some time after their process.
  void WaitUntilFree() const {
    for (int tries = 0; tries < 1000; ++tries) {
      const uint64_t used = Number(v1_ ? "memory.usage_in_bytes" : "memory.current") -
                            Field("memory.stat", v1_ ? "total_cache " : "file ");
      if (used < 4 * kMiB) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  // How many processes were killed because the limit was met.
  uint64_t Kills() const {
    return Field(v1_ ? "memory.oom_control" : "memory.events", "oom_kill ");
  }
  uint64_t Peak() const { return Number(v1_ ? "memory.max_usage_in_bytes" : "memory.peak"); }

 private:
  MemoryGroup(std::string folder, bool v1) : folder_(std::move(folder)), v1_(v1) {}

  bool Limit(uint64_t bytes) {
    if (mkdir(folder_.c_str(), 0755) != 0) return false;
    return Write(v1_ ? "memory.limit_in_bytes" : "memory.max", std::to_string(bytes));
  }
  bool Write(const std::string& file, const std::string& text) const {
    const int fd = open((folder_ + "/" + file).c_str(), O_WRONLY);
    if (fd < 0) return false;
    const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    close(fd);
    return written;
  }
  uint64_t Number(const std::string& file) const {
    uint64_t number = 0;
    std::ifstream(folder_ + "/" + file) >> number;
    return number;
  }
  uint64_t Field(const std::string& file, const std::string& name) const {
    std::ifstream lines(folder_ + "/" + file);
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind(name, 0) == 0) return std::stoull(line.substr(name.size()));
    }
    return 0;
  }

  std::string folder_;
  bool v1_ = true;
};

struct GroupRun {
  int exit_code = -1;  // Below 0: the signal that ended it.
  std::string out;
};

// Runs the program in `group`, or outside of any when it is null.
GroupRun SpawnIn(const MemoryGroup* group, std::vector<std::string> arguments) {
  int pipes[2];
  EXPECT_EQ(pipe(pipes), 0);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    if (group != nullptr && !group->Enter()) _exit(126);
    dup2(pipes[1], STDOUT_FILENO);
    close(pipes[0]);
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(pipes[1]);
  GroupRun ran;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(pipes[0], buffer, sizeof(buffer))) > 0;) {
    ran.out.append(buffer, static_cast<size_t>(got));
  }
  close(pipes[0]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  ran.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return ran;
}

class DiskCgroup : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = testing::TempDir() + "penstock_cgroup_" + std::to_string(getpid());
    std::filesystem::remove_all(directory_);
    const auto made = Synthesize(LargeCheckpoint(directory_), {});
    ASSERT_TRUE(made.has_value()) << made.error().message;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      bytes_ += entry.file_size();
    }
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::vector<std::string> Generate(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {PENSTOCK_BINARY, "generate", "-m", directory_, "--ids",
                                          "5,6,7",         "-n",       "3",  "-c",       "64",
                                          "--ignore-eos",  "--output", "ids"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  std::string directory_;
  uint64_t bytes_ = 0;
};

TEST_F(DiskCgroup, AutoMemoryStaysWithinTheGroupsLimit) {
  const uint64_t limit = bytes_ / 3 / kMiB * kMiB;
  const auto group = MemoryGroup::Make(limit);
  if (!group) GTEST_SKIP() << "this process may not make a memory cgroup";
  const GroupRun expected = SpawnIn(nullptr, Generate({"--memory", "1G"}));
  ASSERT_EQ(expected.exit_code, 0);
  ASSERT_FALSE(expected.out.empty());

  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int run = 0; run < 2; ++run) {
    const std::string extent = std::to_string(kMiB + random() % (2 * kMiB) / 4096 * 4096);
    const std::string bs = std::to_string((1 + random() % 256) * 4096);
    group->WaitUntilFree();
    const GroupRun ran =
        SpawnIn(&*group, Generate({"--memory", "auto", "--extent", extent, "--bs", bs}));
    EXPECT_EQ(ran.exit_code, 0) << extent << " " << bs;
    EXPECT_EQ(ran.out, expected.out) << extent << " " << bs;
  }
  EXPECT_EQ(group->Kills(), 0u);
  // The limit itself may be met: pages of the program's own files are charged, and dropped then.
  EXPECT_GT(group->Peak(), limit / 4) << "it ran in the group";
}

// The group's limit is what binds: with less than the program needs it refuses and is not killed.
TEST_F(DiskCgroup, ALimitThatIsTooSmallIsRefused) {
  const auto group = MemoryGroup::Make(80 * kMiB);
  if (!group) GTEST_SKIP() << "this process may not make a memory cgroup";
  const GroupRun ran = SpawnIn(&*group, Generate({"--memory", "auto", "--pin", "8"}));
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(group->Kills(), 0u);
}

}  // namespace
}  // namespace penstock::k3
