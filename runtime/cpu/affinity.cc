#include "runtime/cpu/affinity.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>

#include <fmt/format.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace penstock {
namespace {

constexpr size_t kMaskBytes = (kMaxCpuId + 1) / 8;

struct Mask {
  cpu_set_t* get() { return reinterpret_cast<cpu_set_t*>(words); }
  unsigned long words[kMaskBytes / sizeof(unsigned long)] = {};
};

// The kernel's struct sched_attr, first version; glibc 2.36 does not declare it.
struct SchedAttr {
  uint32_t size = sizeof(SchedAttr);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime = 0;  // For the normal policy: the slice in nanoseconds.
  uint64_t deadline = 0;
  uint64_t period = 0;
};

Error SystemError(std::string_view what) {
  const int sys = errno;
  return Failed(fmt::format("{}: {}", what, std::strerror(sys)), sys);
}

}  // namespace

Result<CpuSet> AllowedCpus() {
  Mask mask;
  if (::sched_getaffinity(0, kMaskBytes, mask.get()) != 0) {
    return SystemError("cannot ask for the CPUs this process may use");
  }
  CpuSet set;
  for (unsigned cpu = 0; cpu <= kMaxCpuId; ++cpu) {
    if (CPU_ISSET_S(cpu, kMaskBytes, mask.get())) set.cpus.push_back(cpu);
  }
  return set;
}

Result<CpuSet> ChooseCpus(std::string_view flag, std::string_view text, const CpuSet& allowed) {
  if (text.empty()) return allowed;
  auto chosen = ParseCpuList(text);
  if (!chosen) return Refused(fmt::format("{}: {}", flag, chosen.error().message));
  if (!allowed.ContainsAll(*chosen)) {
    return Refused(fmt::format("{} asks for CPUs {}, but this process may only use {}", flag,
                               FormatCpuList(*chosen), FormatCpuList(allowed)));
  }
  return std::move(*chosen);
}

Status PinThisThread(const CpuSet& set) {
  Mask mask;
  for (const unsigned cpu : set.cpus) CPU_SET_S(cpu, kMaskBytes, mask.get());
  if (::sched_setaffinity(0, kMaskBytes, mask.get()) != 0) {
    return SystemError(fmt::format("cannot pin a thread to CPUs {}", FormatCpuList(set)));
  }
  return {};
}

Status RequestSlice(Duration slice) {
  SchedAttr attr;
  if (::syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0) != 0) {
    return SystemError("cannot read a thread's scheduling attributes");
  }
  attr.flags = 0;
  attr.runtime = slice.ns;
  if (::syscall(SYS_sched_setattr, 0, &attr, 0) != 0) {
    return SystemError(fmt::format("the kernel refused a time slice of {}", FormatDuration(slice)));
  }
  SchedAttr granted;
  if (::syscall(SYS_sched_getattr, 0, &granted, sizeof(granted), 0) != 0 ||
      granted.runtime != slice.ns) {
    return Failed(fmt::format("the kernel ignored a time slice of {} (it needs Linux 6.12)",
                              FormatDuration(slice)));
  }
  return {};
}

}  // namespace penstock
