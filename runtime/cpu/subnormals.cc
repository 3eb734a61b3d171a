#include "runtime/cpu/subnormals.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace penstock {

#if defined(__x86_64__)
namespace {
constexpr unsigned kFlushToZero = 1u << 15;
constexpr unsigned kDenormalsAreZero = 1u << 6;
}  // namespace

void KeepSubnormals() { _mm_setcsr(_mm_getcsr() & ~(kFlushToZero | kDenormalsAreZero)); }
bool SubnormalsKept() { return (_mm_getcsr() & (kFlushToZero | kDenormalsAreZero)) == 0; }
#else
void KeepSubnormals() {}
bool SubnormalsKept() {
  volatile float smallest = 1e-45f;
  return smallest * 1.0f != 0.0f;
}
#endif

}  // namespace penstock
