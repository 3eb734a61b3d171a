#include "ops/codec/huffman/huffman.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace penstock::ops::huffman {

const Kernels* BuiltAvx2();  // avx2.cc: nullptr where this build has none.

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
#else
bool CpuHasAvx2() { return false; }
#endif

}  // namespace

const Kernels* Avx2() {
  static const bool usable = CpuHasAvx2();
  return usable ? BuiltAvx2() : nullptr;
}

}  // namespace penstock::ops::huffman
