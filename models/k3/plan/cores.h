#pragma once

#include <cstddef>
#include <string>

#include "models/k3/config/options.h"
#include "runtime/cpu/cpu_list.h"
#include "runtime/result.h"

namespace penstock::k3 {

// Which CPUs compute and decode, and with how many threads.
struct Cores {
  CpuSet compute;
  CpuSet decode;
  size_t threads = 1;
  size_t decode_threads = 1;
  bool shared = true;  // The two sets have a CPU in common.
};

// What the options ask for; where they do not, the CPUs that this process inherited (taskset, a
// cpuset cgroup) and as many threads as there are of them, but no more than the CPU quota of its
// cgroups can run. `packed`: there are stripes to decode. Refused: a CPU that was not inherited, and
// more threads than could take turns.
Result<Cores> ChooseCores(const PipelineOptions& options, bool packed);

// Threads for a set of CPUs: one for each, and no more than the quota of the cgroups below `root`.
size_t DefaultThreads(const CpuSet& cpus, const std::string& root = "");

}  // namespace penstock::k3
