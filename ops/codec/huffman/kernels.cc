#include "ops/codec/huffman/huffman.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace penstock::ops::huffman {

// nullptr where this build has none.
const Kernels* BuiltAvx2();
const Kernels* BuiltAvx512();

namespace {

#if defined(__x86_64__)
// Everything avx2.cc is compiled with.
bool CpuHasAvx2() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned kLzcnt = 1u << 5;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2") && __get_cpuid(0x80000001u, &a, &b, &c, &d) != 0 &&
         (c & kLzcnt) != 0;
}

bool CpuHasAvx512() { return CpuHasAvx2() && __builtin_cpu_supports("avx512bw"); }
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

}  // namespace penstock::ops::huffman
