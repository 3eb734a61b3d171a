#include "models/k3/plan/cores.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "runtime/cpu/affinity.h"
#include "runtime/machine/cgroup.h"

namespace penstock::k3 {
namespace {

// More take turns so long that the program does not stop within two seconds when asked to.
constexpr size_t kMostThreadsPerCpu = 16;

}  // namespace

size_t DefaultThreads(const CpuSet& cpus, const std::string& root) {
  const std::optional<double> quota = ReadCgroupLimits(root).cpus;
  if (!quota) return cpus.size();
  return std::clamp<size_t>(static_cast<size_t>(std::ceil(*quota)), 1, cpus.size());
}

Result<Cores> ChooseCores(const PipelineOptions& options, bool packed) {
  Cores cores;
  PENSTOCK_TRY(const CpuSet allowed, AllowedCpus());
  PENSTOCK_TRY(cores.compute, ChooseCpus("--cpus-compute", options.cpus_compute, allowed));
  cores.threads = options.threads != 0 ? options.threads : DefaultThreads(cores.compute);
  if (cores.threads > kMostThreadsPerCpu * cores.compute.size()) {
    return Refused(fmt::format("--threads {} is more than {} for each of the {} CPUs that compute",
                               cores.threads, kMostThreadsPerCpu, cores.compute.size()));
  }
  cores.decode = cores.compute;
  cores.decode_threads = cores.threads;
  if (options.cpus_decode.empty()) return cores;
  if (!packed) return Refused("--cpus-decode is for the stripes of a pack: expected --pack DIR");
  PENSTOCK_TRY(cores.decode, ChooseCpus("--cpus-decode", options.cpus_decode, allowed));
  cores.decode_threads = DefaultThreads(cores.decode);
  cores.shared = std::any_of(cores.decode.cpus.begin(), cores.decode.cpus.end(),
                             [&](unsigned cpu) { return cores.compute.Contains(cpu); });
  return cores;
}

}  // namespace penstock::k3
