#include "ops/kernels/lanes.h"

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#endif

namespace penstock::ops {

const Kernels* BuiltAvx2Kernels();

#if defined(__AVX2__) && defined(__FMA__)

namespace {

// clang-format off
#include "ops/kernels/avx2_lanes.inc.h"
#include "ops/kernels/bodies.inc.h"
// clang-format on

constexpr Kernels kKernels = MakeKernels("avx2");

}  // namespace

const Kernels* BuiltAvx2Kernels() { return &kKernels; }

#else

const Kernels* BuiltAvx2Kernels() { return nullptr; }

#endif

}  // namespace penstock::ops
