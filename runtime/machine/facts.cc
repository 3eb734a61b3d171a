#include "runtime/machine/facts.h"

#include <sys/utsname.h>

#include "runtime/cpu/affinity.h"
#include "runtime/machine/cgroup.h"
#include "runtime/machine/proc_text.h"
#include "runtime/small_file.h"

namespace penstock {
namespace {

std::string ReadHugePages() {
  auto text = ReadSmallFile("/sys/kernel/mm/transparent_hugepage/enabled");
  if (!text) return "";  // "always [madvise] never": the brackets mark the mode.
  const size_t open = text->find('[');
  const size_t close = text->find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) return "";
  return text->substr(open + 1, close - open - 1);
}

}  // namespace

MachineFacts ReadMachineFacts(const std::string& path) {
  MachineFacts facts;
  if (auto text = ReadSmallFile("/proc/cpuinfo")) facts.cpu = TextAfter(*text, "model name");
  if (auto set = AllowedCpus()) facts.cpus = FormatCpuList(*set);
  struct utsname name;
  if (::uname(&name) == 0) facts.kernel = name.release;
  facts.huge_pages = ReadHugePages();
  if (auto text = ReadSmallFile("/proc/meminfo")) {
    facts.memory_bytes = NumberAfter(*text, "MemTotal:").value_or(0) * kKiB;
  }
  const CgroupLimits limits = ReadCgroupLimits();
  facts.cgroup_cpus = limits.cpus;
  facts.cgroup_memory_bytes = limits.SmallestMemory();
  if (!path.empty()) {
    if (auto device = FindBlockDevice(path)) facts.device = *device;
  }
  return facts;
}

Json ToJson(const MachineFacts& facts) {
  const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
  Json device = nullptr;
  if (facts.device) {
    device = {{"name", facts.device->name},
              {"model", facts.device->model},
              {"scheduler", facts.device->scheduler}};
  }
  return {{"cpu", facts.cpu},
          {"cpus", facts.cpus},
          {"kernel", facts.kernel},
          {"huge_pages", facts.huge_pages},
          {"memory_bytes", facts.memory_bytes},
          {"cgroup_cpus", or_null(facts.cgroup_cpus)},
          {"cgroup_memory_bytes", or_null(facts.cgroup_memory_bytes)},
          {"device", device}};
}

}  // namespace penstock
