#include "ops/isa.h"

#include <cfloat>

#include "runtime/cpu/instructions.h"

namespace penstock::ops {

// kernels/avx2.cc and avx512.cc: nullptr where this build has none.
const Kernels* BuiltAvx2Kernels();
const Kernels* BuiltAvx512Kernels();

namespace {

constexpr uint64_t kSelfCheckSeed = 20240229;

}  // namespace

const Kernels* Avx2Kernels() { return CpuHasAvx2() ? BuiltAvx2Kernels() : nullptr; }

const Kernels* Avx512Kernels() { return CpuHasAvx512() ? BuiltAvx512Kernels() : nullptr; }

std::vector<const Kernels*> KernelsHere() {
  std::vector<const Kernels*> all;
  for (const Kernels* kernels : {Avx512Kernels(), Avx2Kernels(), &ScalarKernels()}) {
    if (kernels != nullptr) all.push_back(kernels);
  }
  return all;
}

Result<const Kernels*> ChooseKernels(const std::string& isa, const Notice& notice) {
  const IsaCandidate candidates[] = {
      {"avx512", Avx512Kernels()}, {"avx2", Avx2Kernels()}, {"scalar", &ScalarKernels()}};
  return ChooseKernels(isa, candidates, notice);
}

Result<const Kernels*> ChooseKernels(const std::string& isa,
                                     std::span<const IsaCandidate> candidates,
                                     const Notice& notice) {
  std::string names = "auto";
  for (const IsaCandidate& candidate : candidates) {
    names += std::string(", ") + candidate.name;
    if (isa != "auto" && isa != candidate.name) continue;
    if (candidate.kernels == nullptr) {
      if (isa == "auto") continue;
      return Refused("--isa " + isa + ": this CPU does not have it; use --isa auto");
    }
    const std::string difference = FirstDifference(*candidate.kernels, kSelfCheckSeed);
    if (difference.empty()) return candidate.kernels;
    const std::string finding =
        std::string(candidate.name) + " gives other bits than scalar in " + difference;
    if (isa != "auto") return Refused("--isa " + isa + ": " + finding + "; use --isa auto");
    Tell(notice, "isa: " + finding + "; trying the next instruction set");
  }
  if (isa != "auto") return Refused("--isa " + isa + ": unknown, expected one of " + names);
  return &ScalarKernels();
}

bool SubnormalsAreKept() {
  volatile float smallest_normal = FLT_MIN;
  volatile float subnormal = FLT_MIN / 4;
  volatile float half = 0.5f;
  volatile float large = 16.0f;
  const volatile float result = smallest_normal * half;  // Zero when results are flushed.
  const volatile float widened = subnormal * large;      // Zero when operands are.
  return result != 0.0f && widened != 0.0f;
}

}  // namespace penstock::ops
