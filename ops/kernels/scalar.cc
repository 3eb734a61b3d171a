#define PENSTOCK_LANES_IN_MEMORY
#include "ops/kernels/lanes.h"

namespace penstock::ops {
namespace {

// clang-format off
#include "ops/kernels/scalar_lanes.inc.h"
#include "ops/kernels/bodies.inc.h"
// clang-format on

constexpr Kernels kKernels = MakeKernels("scalar");

}  // namespace

const Kernels& ScalarKernels() { return kKernels; }

size_t Mxfp4ScratchFloats(size_t cols, size_t positions) {
  constexpr size_t kWidest = 2 * kBlockColumns;  // Blocks that an instruction set takes at once.
  return (cols + kWidest - 1) / kWidest * kWidest * positions;
}

}  // namespace penstock::ops

#undef PENSTOCK_INLINE
#undef PENSTOCK_UNROLL
#undef PENSTOCK_LANES_IN_MEMORY
