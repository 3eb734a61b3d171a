// Every kernel body over the lane type F8, in order of dependence, and the record made of them.
// Included once by each instruction set's translation unit, inside its unnamed namespace, after
// its lanes: nothing here may have external linkage or call a template of the standard library,
// because such a symbol would be shared with code that must run on every CPU.

// clang-format off
#include "ops/kernels/common.inc.h"
#include "ops/kernels/math.inc.h"
#include "ops/kernels/norms.inc.h"
#include "ops/kernels/gates.inc.h"
#include "ops/kernels/kda.inc.h"
#include "ops/kernels/bf16.inc.h"
#include "ops/kernels/mxfp4.inc.h"
// clang-format on

constexpr Kernels MakeKernels(const char* name) {
  return {
      .name = name,
      .matvec_bf16 = MatvecBf16,
      .matvec_bf16_transposed = MatvecBf16Transposed,
      .mxfp4_prepare = Mxfp4Prepare,
      .matvec_mxfp4 = MatvecMxfp4,
      .rms_norm = RmsNorm,
      .situ_glu = SituGlu,
      .short_conv_silu = ShortConvSilu,
      .l2_normalize = L2Normalize,
      .kda_decay = KdaDecay,
      .kda_step = KdaStep,
      .gated_norm = GatedNorm,
      .sigmoid_gate = SigmoidGate,
      .sigmoid = SigmoidArray,
      .residual_mix = ResidualMix,
      .add_scaled = AddScaled,
      .widen_bf16 = WidenBf16Array,
      .all_finite = AllFinite,
      .exp_minus = ExpMinus,
  };
}
