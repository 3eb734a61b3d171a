#include <cstring>

#include "ops/isa.h"
#include "tests/ops/draw.h"

namespace penstock::ops {
namespace {

TEST(NumericSelfCheck, EveryRunnableRecordAgreesForManySeeds) {
  for (const Kernels* kernels : RunnableKernels()) {
    for (uint64_t seed = 0; seed < 50; ++seed) {
      EXPECT_EQ(FirstDifference(*kernels, 1000 * seed), "") << kernels->name << " seed " << seed;
    }
  }
}

// The last bit of whatever a kernel wrote last.
void Spoil(float* y) {
  uint32_t bits;
  std::memcpy(&bits, y, sizeof bits);
  bits ^= 1u;
  std::memcpy(y, &bits, sizeof bits);
}

// Every kernel of the record is looked at: with the last bit of one of its outputs turned, the
// check must see it.
TEST(NumericSelfCheck, SeesOneBitInEveryKernel) {
  std::vector<Kernels> spoilt(18, ScalarKernels());
  size_t i = 0;
  spoilt[i++].matvec_bf16 = [](const uint16_t* w, size_t rows, size_t cols, const float* x,
                               size_t x_stride, size_t positions, float* y, size_t y_stride) {
    ScalarKernels().matvec_bf16(w, rows, cols, x, x_stride, positions, y, y_stride);
    Spoil(y + (positions - 1) * y_stride + rows - 1);
  };
  spoilt[i++].matvec_bf16_transposed = [](const uint16_t* w, size_t rows, size_t cols,
                                          const float* x, float* y) {
    ScalarKernels().matvec_bf16_transposed(w, rows, cols, x, y);
    Spoil(y + cols - 1);
  };
  spoilt[i++].mxfp4_prepare = [](const float* x, size_t x_stride, size_t cols, size_t positions,
                                 float* scratch) {
    ScalarKernels().mxfp4_prepare(x, x_stride, cols, positions, scratch);
    Spoil(scratch);
  };
  spoilt[i++].matvec_mxfp4 = [](const uint8_t* packed, const uint8_t* scales, size_t rows,
                                size_t cols, const float* scratch, size_t positions, float* y,
                                size_t y_stride) {
    ScalarKernels().matvec_mxfp4(packed, scales, rows, cols, scratch, positions, y, y_stride);
    Spoil(y + (positions - 1) * y_stride + rows - 1);
  };
  spoilt[i++].rms_norm = [](const float* x, const float* weight, size_t n, float eps, float* y) {
    ScalarKernels().rms_norm(x, weight, n, eps, y);
    Spoil(y + n - 1);
  };
  spoilt[i++].situ_glu = [](const float* gate, const float* up, size_t n, float beta,
                            float linear_beta, float* y) {
    ScalarKernels().situ_glu(gate, up, n, beta, linear_beta, y);
    Spoil(y + n - 1);
  };
  spoilt[i++].short_conv_silu = [](const float* taps, const float* history, const float* x,
                                   size_t channels, size_t per_channel, float* y) {
    ScalarKernels().short_conv_silu(taps, history, x, channels, per_channel, y);
    Spoil(y + channels - 1);
  };
  spoilt[i++].l2_normalize = [](const float* x, size_t n, float scale, float* y) {
    ScalarKernels().l2_normalize(x, n, scale, y);
    Spoil(y + n - 1);
  };
  spoilt[i++].kda_decay = [](const float* z, const float* bias, size_t n, float a, float bound,
                             float* alpha) {
    ScalarKernels().kda_decay(z, bias, n, a, bound, alpha);
    Spoil(alpha + n - 1);
  };
  spoilt[i++].kda_step = [](const float* before, const float* q, const float* k, const float* v,
                            const float* alpha, float beta, size_t d, float* after, float* o) {
    ScalarKernels().kda_step(before, q, k, v, alpha, beta, d, after, o);
    Spoil(after + d * d - 1);
  };
  spoilt[i++].gated_norm = [](const float* o, const float* weight, const float* gate, size_t n,
                              float eps, float* y) {
    ScalarKernels().gated_norm(o, weight, gate, n, eps, y);
    Spoil(y + n - 1);
  };
  spoilt[i++].sigmoid_gate = [](const float* x, const float* gate, size_t n, float* y) {
    ScalarKernels().sigmoid_gate(x, gate, n, y);
    Spoil(y + n - 1);
  };
  spoilt[i++].sigmoid = [](const float* x, size_t n, float* y) {
    ScalarKernels().sigmoid(x, n, y);
    Spoil(y + n - 1);
  };
  spoilt[i++].residual_mix = [](const float* const* sources, size_t count, const float* factor,
                                size_t n, float eps, float* out) {
    ScalarKernels().residual_mix(sources, count, factor, n, eps, out);
    Spoil(out + n - 1);
  };
  spoilt[i++].add_scaled = [](const float* x, float a, size_t n, float* y) {
    ScalarKernels().add_scaled(x, a, n, y);
    Spoil(y + n - 1);
  };
  spoilt[i++].widen_bf16 = [](const uint16_t* w, size_t n, float* out) {
    ScalarKernels().widen_bf16(w, n, out);
    Spoil(out + n - 1);
  };
  spoilt[i++].all_finite = [](const float* x, size_t n) {
    return !ScalarKernels().all_finite(x, n);
  };
  spoilt[i++].exp_minus = [](const float* x, float shift, size_t n, float* y) {
    float sum = ScalarKernels().exp_minus(x, shift, n, y);
    Spoil(&sum);
    return sum;
  };
  ASSERT_EQ(i, spoilt.size());
  ASSERT_EQ(sizeof(Kernels), (1 + spoilt.size()) * sizeof(void*)) << "a kernel without a case here";
  for (size_t k = 0; k < spoilt.size(); ++k) {
    EXPECT_NE(FirstDifference(spoilt[k], 7), "") << "kernel " << k << " of the record";
  }
}

}  // namespace
}  // namespace penstock::ops
