#include "ops/codec/chain/chain.h"

namespace penstock::ops::chain {

const Kernels* BuiltAvx2();    // avx2.cc: nullptr where this build has none.
const Kernels* BuiltAvx512();  // avx512.cc, likewise.

namespace {

// Everything that the two files are compiled with. The compiler's run-time answers "yes" only if the
// operating system saves the registers too.
#if defined(__x86_64__)
bool CpuHasAvx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
}
bool CpuHasAvx512() {
  return CpuHasAvx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") &&
         __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vpopcntdq");
}
#else
bool CpuHasAvx2() { return false; }
bool CpuHasAvx512() { return false; }
#endif

}  // namespace

const Kernels* Avx2() {
  static const bool usable = CpuHasAvx2();
  return usable ? BuiltAvx2() : nullptr;
}

const Kernels* Avx512() {
  static const bool usable = CpuHasAvx512();
  return usable ? BuiltAvx512() : nullptr;
}

}  // namespace penstock::ops::chain
