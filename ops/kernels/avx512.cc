#include "ops/kernels/lanes.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && \
    defined(__AVX512VL__) && defined(__AVX512VBMI__)
#define PENSTOCK_BUILDS_AVX512
#include <immintrin.h>
#endif

namespace penstock::ops {

const Kernels* BuiltAvx512Kernels();

#if defined(PENSTOCK_BUILDS_AVX512)

namespace {

// The eight lanes of AVX2 stay the unit of every sum; what gains by two of them in one register
// has a body of its own.
// clang-format off
#include "ops/kernels/avx2_lanes.inc.h"
#include "ops/kernels/bodies.inc.h"
#include "ops/kernels/avx512_bf16.inc.h"
#include "ops/kernels/avx512_kda.inc.h"
#include "ops/kernels/avx512_mxfp4.inc.h"
// clang-format on

constexpr Kernels MakeWideKernels() {
  Kernels kernels = MakeKernels("avx512");
  kernels.matvec_bf16 = MatvecBf16Pairs;
  kernels.mxfp4_prepare = Mxfp4PreparePairs;
  kernels.matvec_mxfp4 = MatvecMxfp4Pairs;
  kernels.kda_step = KdaStepWide;
  return kernels;
}

constexpr Kernels kKernels = MakeWideKernels();

}  // namespace

const Kernels* BuiltAvx512Kernels() { return &kKernels; }

#else

const Kernels* BuiltAvx512Kernels() { return nullptr; }

#endif

}  // namespace penstock::ops
