#pragma once

#include <string>
#include <string_view>

#include "runtime/cpu/cpu_list.h"
#include "runtime/result.h"
#include "runtime/size.h"

namespace penstock {

// The CPUs the calling thread may run on. Asked of the main thread before it is pinned, these are
// the ones the process inherited (taskset, a cpuset cgroup).
Result<CpuSet> AllowedCpus();

// The set that the list option `flag` ("--cpus-io") asks for: `text` parsed, or all of `allowed`
// when it is empty. A CPU outside `allowed` is refused and both sets are named.
Result<CpuSet> ChooseCpus(std::string_view flag, std::string_view text, const CpuSet& allowed);

// Restricts the calling thread to `set`.
Status PinThisThread(const CpuSet& set);

// Asks the scheduler for short turns for the calling thread, so that it is run soon after it wakes
// although every core computes. Needs no privilege. Fails where the kernel refuses, or (before
// 6.12) accepts the request and ignores it; the thread then runs as any other.
Status RequestSlice(Duration slice);

inline constexpr Duration kIoThreadSlice{100'000};  // The smallest the kernel grants.

}  // namespace penstock
