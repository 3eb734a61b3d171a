#pragma once

#include <span>
#include <string>
#include <vector>

#include "ops/kernels/kernels.h"
#include "runtime/notice.h"
#include "runtime/result.h"

namespace penstock::ops {

// --isa auto|scalar|avx2|avx512. "auto" takes the best the CPU has. The chosen kernels are run once
// against scalar on random shapes (< 10 ms); a difference selects the next ISA and tells `notice`.
// An ISA that was asked for by name and that the CPU lacks or that differs is refused, and so is an
// unknown name. The record lives as long as the program.
Result<const Kernels*> ChooseKernels(const std::string& isa, const Notice& notice);

// The same over a given list in order of preference; a null entry is an ISA that this CPU or this
// build lacks. Scalar is always the last resort.
struct IsaCandidate {
  const char* name;
  const Kernels* kernels;
};
Result<const Kernels*> ChooseKernels(const std::string& isa,
                                     std::span<const IsaCandidate> candidates,
                                     const Notice& notice);

// The name of the first kernel whose bits differ from scalar's on random shapes, empty if none
// does. A NaN equals any other NaN.
std::string FirstDifference(const Kernels& kernels, uint64_t seed);

// Every record that this machine runs, the best first, scalar last.
std::vector<const Kernels*> KernelsHere();

// False when this thread flushes subnormal results or operands to zero, which would change results.
bool SubnormalsAreKept();

}  // namespace penstock::ops
