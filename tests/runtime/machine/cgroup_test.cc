#include "runtime/machine/cgroup.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "runtime/size.h"

namespace penstock {
namespace {

// A machine made of files: /proc and the cgroup hierarchies below a folder.
class Machine {
 public:
  Machine() {
    std::string pattern = ::testing::TempDir() + "cgroup_test_XXXXXX";
    root_ = ::mkdtemp(pattern.data());
    Write("/proc/meminfo", "MemTotal:       16777216 kB\nMemAvailable:    8388608 kB\n");
  }
  ~Machine() { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  const std::string& root() const { return root_; }

 private:
  std::string root_;
};

constexpr const char* kMountV2 = "30 20 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";

TEST(Cgroup, NothingReadableIsNoLimit) {
  const Machine machine;
  const CgroupLimits limits = ReadCgroupLimits(machine.root());
  EXPECT_TRUE(limits.memory.empty());
  EXPECT_FALSE(limits.cpus);
  const MemoryBudget budget = ChooseMemoryBudget(100 * kMiB, machine.root());
  EXPECT_EQ(budget.reserve, 512 * kMiB);
  EXPECT_EQ(budget.bytes, 8 * kGiB - 512 * kMiB + 100 * kMiB);
  EXPECT_NE(budget.bound_by.find("meminfo"), std::string::npos);
}

TEST(Cgroup, VersionTwoTakesEveryAncestor) {
  Machine machine;
  machine.Write("/proc/self/mountinfo", kMountV2);
  machine.Write("/proc/self/cgroup", "0::/a/b\n");
  machine.Write("/sys/fs/cgroup/a/b/memory.max", "max\n");
  machine.Write("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  machine.Write("/sys/fs/cgroup/a/memory.max", "2147483648\n");
  machine.Write("/sys/fs/cgroup/a/memory.current", "1610612736\n");
  machine.Write("/sys/fs/cgroup/a/memory.stat",
                "anon 1\nfile_mapped 7\nfile 1342177280\nshmem 268435456\n");
  machine.Write("/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  const CgroupLimits limits = ReadCgroupLimits(machine.root());
  ASSERT_EQ(limits.memory.size(), 1u);
  EXPECT_EQ(limits.memory[0].limit, 2 * kGiB);
  // 1.5 GiB used, of which 1 GiB is page cache that can be dropped (tmpfs pages cannot).
  EXPECT_EQ(limits.memory[0].Free(), 3 * kGiB / 2);
  EXPECT_DOUBLE_EQ(*limits.cpus, 1.5);
  const MemoryBudget budget = ChooseMemoryBudget(0, machine.root());
  EXPECT_EQ(budget.bytes, 3 * kGiB / 2 - 96 * kMiB);
  EXPECT_NE(budget.bound_by.find("/a/memory.max"), std::string::npos);
}

TEST(Cgroup, MemoryHighBindsToo) {
  Machine machine;
  machine.Write("/proc/self/mountinfo", kMountV2);
  machine.Write("/proc/self/cgroup", "0::/\n");
  machine.Write("/sys/fs/cgroup/memory.max", "4294967296\n");
  machine.Write("/sys/fs/cgroup/memory.high", "1073741824\n");
  EXPECT_EQ(*ReadCgroupLimits(machine.root()).SmallestMemory(), kGiB);
}

TEST(Cgroup, VersionOneHasAHierarchyForEachController) {
  Machine machine;
  machine.Write(
      "/proc/self/mountinfo",
      "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
      "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
      "35 31 0:32 /docker/x /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
      "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  machine.Write("/proc/self/cgroup", "4:memory:/docker/x/job\n2:cpu,cpuacct:/job\n0::/\n");
  machine.Write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
  machine.Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n");
  machine.Write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "536870912\n");
  machine.Write("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "50000\n");
  machine.Write("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  machine.Write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  const CgroupLimits limits = ReadCgroupLimits(machine.root());
  ASSERT_EQ(limits.memory.size(), 1u);
  EXPECT_EQ(limits.memory[0].Free(), 512 * kMiB);
  EXPECT_DOUBLE_EQ(*limits.cpus, 0.5);
}

TEST(Cgroup, VersionOneTellsOfAncestorsThatAreNotMounted) {
  Machine machine;
  machine.Write("/proc/self/mountinfo",
                "35 31 0:32 /docker/x /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  machine.Write("/proc/self/cgroup", "4:memory:/docker/x\n");
  machine.Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  machine.Write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "536870912\n");
  machine.Write("/sys/fs/cgroup/memory/memory.stat",
                "cache 1\nhierarchical_memory_limit 1073741824\ntotal_cache 104857600\n"
                "total_shmem 0\n");
  const CgroupLimits limits = ReadCgroupLimits(machine.root());
  ASSERT_EQ(limits.memory.size(), 1u);
  EXPECT_EQ(limits.memory[0].limit, kGiB);
  EXPECT_EQ(limits.memory[0].Free(), 612 * kMiB);
  EXPECT_NE(limits.memory[0].file.find("memory.stat"), std::string::npos);
}

// The tightest of all counts, whichever version and level it comes from, and swap is not memory.
TEST(Cgroup, TheTightestOfMachineAndBothVersionsIsTheBudget) {
  Machine machine;
  machine.Write("/proc/meminfo",
                "MemTotal: 16777216 kB\nMemAvailable: 4194304 kB\nSwapFree: 8388608 kB\n");
  machine.Write(
      "/proc/self/mountinfo",
      std::string(kMountV2) + "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  machine.Write("/proc/self/cgroup", "4:memory:/job\n0::/a/b\n");
  EXPECT_EQ(ChooseMemoryBudget(kGiB, machine.root()).bytes, 5 * kGiB - 256 * kMiB);
  machine.Write("/sys/fs/cgroup/a/memory.max", "3221225472\n");
  machine.Write("/sys/fs/cgroup/a/b/memory.swap.max", "1048576\n");
  EXPECT_EQ(ChooseMemoryBudget(0, machine.root()).bytes, 3 * kGiB - 192 * kMiB);
  machine.Write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "2147483648\n");
  EXPECT_EQ(ChooseMemoryBudget(0, machine.root()).bytes, 2 * kGiB - 128 * kMiB);
  machine.Write("/sys/fs/cgroup/a/b/memory.high", "1073741824\n");
  const MemoryBudget budget = ChooseMemoryBudget(0, machine.root());
  EXPECT_EQ(budget.bytes, kGiB - 64 * kMiB);
  EXPECT_NE(budget.bound_by.find("/a/b/memory.high"), std::string::npos);
}

TEST(Cgroup, StrangePathsAndNumbersAreNoLimit) {
  Machine machine;
  machine.Write("/proc/self/mountinfo", std::string(kMountV2) + "garbage\n\n- - -\n");
  machine.Write("/proc/self/cgroup", "0::/../../etc\nx\n:::\n");
  machine.Write("/sys/fs/cgroup/memory.max", "-5\n");
  machine.Write("/sys/fs/cgroup/cpu.max", "0 0\n");
  const CgroupLimits limits = ReadCgroupLimits(machine.root());
  EXPECT_TRUE(limits.memory.empty());
  EXPECT_FALSE(limits.cpus);
}

TEST(Cgroup, UsageOverTheLimitLeavesNothing) {
  const MemoryLimit limit{.file = "", .limit = 10, .used = 30, .page_cache = 5};
  EXPECT_EQ(limit.Free(), 0u);
}

}  // namespace
}  // namespace penstock
