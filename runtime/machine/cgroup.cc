#include "runtime/machine/cgroup.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "runtime/machine/proc_text.h"
#include "runtime/size.h"
#include "runtime/small_file.h"

namespace penstock {
namespace {

constexpr uint64_t kNoLimitV1 = uint64_t{1} << 60;  // Version 1 spells "none" as almost 2^63.
constexpr uint64_t kLargestReserve = 2 * kGiB;
constexpr uint64_t kSmallestReserve = 64 * kMiB;

// Where a hierarchy is mounted, and which of its cgroups the mount point shows.
struct Mount {
  std::string point;
  std::string shown;
};

bool HasWord(std::string_view list, std::string_view word) {
  return ("," + std::string(list) + ",").find("," + std::string(word) + ",") != std::string::npos;
}

// The mount of the version 2 hierarchy, or of a version 1 controller.
std::optional<Mount> FindMount(const std::string& mountinfo, std::string_view controller) {
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    // id parent dev root point options [tags...] - type source super-options
    std::istringstream words(line);
    std::string skip, shown, point, type, source, super;
    words >> skip >> skip >> skip >> shown >> point;
    while (words >> skip && skip != "-") {
    }
    words >> type >> source >> super;
    const bool match =
        controller.empty() ? type == "cgroup2" : type == "cgroup" && HasWord(super, controller);
    if (match) return Mount{point, shown};
  }
  return std::nullopt;
}

// The path of this process in that hierarchy, from /proc/self/cgroup.
std::optional<std::string> FindPath(const std::string& cgroup, std::string_view controller) {
  std::istringstream lines(cgroup);
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view names = std::string_view(line).substr(first + 1, second - first - 1);
    if (controller.empty() ? names.empty() : HasWord(names, controller)) {
      return line.substr(second + 1);
    }
  }
  return std::nullopt;
}

// The folders from the own cgroup up to the mount point.
std::vector<std::string> Ancestors(const std::string& root, const std::string& mountinfo,
                                   const std::string& cgroup, std::string_view controller) {
  const auto mount = FindMount(mountinfo, controller);
  const auto path = FindPath(cgroup, controller);
  if (!mount || !path) return {};
  // In a container without a cgroup namespace the path is the host's; what is mounted is its tail.
  std::string below = *path;
  if (mount->shown != "/" && below.starts_with(mount->shown)) below.erase(0, mount->shown.size());
  if (below.find("..") != std::string::npos) below.clear();
  const std::string top = root + mount->point;
  std::vector<std::string> folders;
  for (; !below.empty() && below != "/"; below.erase(below.rfind('/'))) {
    if (below.front() != '/') break;
    folders.push_back(top + below);
  }
  folders.push_back(top);
  return folders;
}

std::optional<uint64_t> ReadNumber(const std::string& path) {
  auto text = ReadSmallFile(path);
  return text ? FirstNumber(*text) : std::nullopt;
}

std::optional<uint64_t> ReadField(const std::string& path, std::string_view field) {
  auto text = ReadSmallFile(path);
  return text ? NumberAfter(*text, field) : std::nullopt;
}

// Pages of files in memory, without those of tmpfs, which the kernel cannot drop.
uint64_t ReadPageCache(const std::string& stat_file, std::string_view all,
                       std::string_view shared) {
  const uint64_t pages = ReadField(stat_file, all).value_or(0);
  return pages - std::min(pages, ReadField(stat_file, shared).value_or(0));
}

void AddMemoryV2(const std::string& folder, CgroupLimits& limits) {
  // Beyond memory.high a process is slowed down to a crawl: as good as a limit.
  for (const char* name : {"/memory.max", "/memory.high"}) {
    const auto limit = ReadNumber(folder + name);
    if (!limit) continue;  // "max", or the root of the hierarchy, which has no such file.
    limits.memory.push_back(
        {.file = folder + name,
         .limit = *limit,
         .used = ReadNumber(folder + "/memory.current").value_or(0),
         .page_cache = ReadPageCache(folder + "/memory.stat", "file", "shmem")});
  }
}

// A group tells the smallest limit of itself and all that hold it, also of those that a container
// does not see; what they have in use is not told, only what this one has.
void AddMemoryV1(const std::string& folder, CgroupLimits& limits) {
  const std::string stat = folder + "/memory.stat";
  const std::string file = folder + "/memory.limit_in_bytes";
  const uint64_t own = ReadNumber(file).value_or(kNoLimitV1);
  const uint64_t hierarchy = ReadField(stat, "hierarchical_memory_limit").value_or(kNoLimitV1);
  if (std::min(own, hierarchy) >= kNoLimitV1) return;
  limits.memory.push_back({.file = hierarchy < own ? stat : file,
                           .limit = std::min(own, hierarchy),
                           .used = ReadNumber(folder + "/memory.usage_in_bytes").value_or(0),
                           .page_cache = ReadPageCache(stat, "total_cache", "total_shmem")});
}

void AddQuota(std::optional<uint64_t> quota, std::optional<uint64_t> period, CgroupLimits& limits) {
  if (!quota || !period || *quota == 0 || *period == 0) return;
  const double cpus = static_cast<double>(*quota) / static_cast<double>(*period);
  limits.cpus = std::min(limits.cpus.value_or(cpus), cpus);
}

void AddCpuV2(const std::string& folder, CgroupLimits& limits) {
  auto text = ReadSmallFile(folder + "/cpu.max");  // "150000 100000" or "max 100000"
  if (!text) return;
  const size_t space = text->find(' ');
  if (space == std::string::npos) return;
  AddQuota(FirstNumber(text->substr(0, space)), FirstNumber(text->substr(space + 1)), limits);
}

void AddCpuV1(const std::string& folder, CgroupLimits& limits) {
  AddQuota(ReadNumber(folder + "/cpu.cfs_quota_us"), ReadNumber(folder + "/cpu.cfs_period_us"),
           limits);  // No quota is "-1", which is no number here.
}

}  // namespace

uint64_t MemoryLimit::Free() const {
  const uint64_t held = used - std::min(used, page_cache);
  return limit - std::min(limit, held);
}

std::optional<uint64_t> CgroupLimits::SmallestMemory() const {
  std::optional<uint64_t> smallest;
  for (const MemoryLimit& one : memory)
    smallest = std::min(smallest.value_or(one.limit), one.limit);
  return smallest;
}

CgroupLimits ReadCgroupLimits(const std::string& root) {
  CgroupLimits limits;
  auto mountinfo = ReadSmallFile(root + "/proc/self/mountinfo");
  auto cgroup = ReadSmallFile(root + "/proc/self/cgroup");
  if (!mountinfo || !cgroup) return limits;
  for (const auto& folder : Ancestors(root, *mountinfo, *cgroup, "")) {
    AddMemoryV2(folder, limits);
    AddCpuV2(folder, limits);
  }
  for (const auto& folder : Ancestors(root, *mountinfo, *cgroup, "memory")) {
    AddMemoryV1(folder, limits);
  }
  for (const auto& folder : Ancestors(root, *mountinfo, *cgroup, "cpu")) AddCpuV1(folder, limits);
  return limits;
}

MemoryBudget ChooseMemoryBudget(uint64_t rss_bytes, const std::string& root) {
  const std::string meminfo = root + "/proc/meminfo";
  uint64_t free = ReadField(meminfo, "MemAvailable:").value_or(0) * kKiB;
  MemoryBudget budget{.bytes = 0, .reserve = 0, .bound_by = meminfo};
  for (const MemoryLimit& limit : ReadCgroupLimits(root).memory) {
    if (limit.Free() >= free) continue;
    free = limit.Free();
    budget.bound_by = limit.file;
  }
  budget.reserve = std::clamp(free / 16, kSmallestReserve, kLargestReserve);
  budget.bytes = rss_bytes + (free - std::min(free, budget.reserve));
  return budget;
}

}  // namespace penstock
