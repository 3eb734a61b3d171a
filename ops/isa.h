#pragma once

#include <string>

#include "ops/kernels/kernels.h"
#include "runtime/notice.h"
#include "runtime/result.h"

namespace penstock::ops {

// --isa auto|scalar|avx2. "auto" takes the best the CPU has. The chosen kernels are run once against
// scalar on random shapes (< 10 ms); a difference selects the next ISA and tells `notice`. An ISA
// that was asked for by name and that the CPU lacks or that differs is refused.
Result<const Kernels*> ChooseKernels(const std::string& isa, const Notice& notice);

// False when this thread flushes subnormals to zero, which would change results.
bool SubnormalsAreKept();

}  // namespace penstock::ops
