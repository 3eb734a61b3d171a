#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// One memory limit that holds for this process: its cgroup's or that of an ancestor.
struct MemoryLimit {
  std::string file;         // Where it was read.
  uint64_t limit = 0;       // Bytes.
  uint64_t used = 0;        // Bytes charged now, of all processes under it.
  uint64_t page_cache = 0;  // The part of `used` that the kernel drops when it needs room.

  uint64_t Free() const;  // What may still be taken before the limit is met.
};

// What cgroups (version 1, 2, or both) allow this process. A limit of an ancestor counts as much
// as its own.
struct CgroupLimits {
  std::vector<MemoryLimit> memory;  // From the own cgroup upwards.
  std::optional<double> cpus;       // The smallest quota, in CPUs: 1.5 is 150 ms in 100 ms.

  std::optional<uint64_t> SmallestMemory() const;
};

// `root` stands before /proc and before every mount point: "" for the machine, a folder in tests.
// What cannot be read counts as no limit.
CgroupLimits ReadCgroupLimits(const std::string& root = "");

// How much the whole process may hold when nobody says: what it holds now (`rss_bytes`) and what
// is free, by the smallest of MemAvailable and every cgroup limit, less a reserve for the rest of
// the machine.
struct MemoryBudget {
  uint64_t bytes = 0;
  uint64_t reserve = 0;
  std::string bound_by;  // The file that set it.
};
MemoryBudget ChooseMemoryBudget(uint64_t rss_bytes, const std::string& root = "");

}  // namespace penstock
