#pragma once

#include <cstdint>

#include "runtime/cpu/affinity.h"
#include "runtime/result.h"

namespace penstock::k3 {

// Threads for work that takes the whole machine: as many as asked for, or one for each CPU that this
// process may run on.
inline Result<size_t> ThreadsFor(uint64_t asked) {
  if (asked != 0) return static_cast<size_t>(asked);
  PENSTOCK_TRY(const CpuSet cpus, AllowedCpus());
  return cpus.size();
}

}  // namespace penstock::k3
