#include "runtime/cpu/instructions.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace penstock {

#if defined(__x86_64__)

namespace {

// The compiler's names cover the operating system's part; it has none for these two.
bool HasF16cAndLzcnt() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned kF16c = 1u << 29;
  constexpr unsigned kLzcnt = 1u << 5;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & kF16c) != 0 &&
         __get_cpuid(0x80000001u, &a, &b, &c, &d) != 0 && (c & kLzcnt) != 0;
}

bool DetectAvx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("popcnt") && HasF16cAndLzcnt();
}

bool DetectAvx512() {
  return CpuHasAvx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
         __builtin_cpu_supports("avx512vpopcntdq");
}

}  // namespace

#else

namespace {
bool DetectAvx2() { return false; }
bool DetectAvx512() { return false; }
}  // namespace

#endif

bool CpuHasAvx2() {
  static const bool has = DetectAvx2();
  return has;
}

bool CpuHasAvx512() {
  static const bool has = DetectAvx512();
  return has;
}

}  // namespace penstock
