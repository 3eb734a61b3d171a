#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::ops {

// Sources that residual_mix accepts.
inline constexpr size_t kMaxResidualSources = 512;

// The functions one instruction set gives, as raw-pointer kernels. Chosen once (ops/isa.h).
//
// Every kernel: re-entrant, allocates nothing, throws nothing, borrows its arguments for the call,
// reads stored values (weights, scales, taps, biases) at any even address, and gives the same bits
// on every ISA, for every number of positions and for every way of cutting rows. The order of each
// sum is defined beside its body (ops/kernels/*.inc.h). Positions: x is [T][x_stride], y is
// [T][y_stride], strides in elements. Unless said otherwise y may not overlap an input. Sizes of
// zero do nothing. Formulas: the K3 release's modelling file; MXFP4: OCP MX specification 1.0.
struct Kernels {
  const char* name;  // "scalar", "avx2", "avx512"

  // y[t][r] = sum_c w[r][c] * x[t][c];  w bf16 [rows][cols], rows contiguous, any cols.
  void (*matvec_bf16)(const uint16_t* w, size_t rows, size_t cols, const float* x, size_t x_stride,
                      size_t positions, float* y, size_t y_stride);

  // y[c] = sum_r w[r][c] * x[r];  the transposed product of the latent MLA (one position).
  void (*matvec_bf16_transposed)(const uint16_t* w, size_t rows, size_t cols, const float* x,
                                 float* y);

  // y[t][r] = sum_c decode(w[r][c]) * x[t][c];  packed [rows][cols/2], the even column in the low
  // nibble, scales [rows][cols/32]; cols is a multiple of 32. `scratch` holds
  // Mxfp4ScratchFloats(cols, positions) floats and is filled by mxfp4_prepare of the same record
  // from x, once for all row ranges that share x and the same number of positions. Scale 0 is 2^-127; scale 255 gives
  // NaN; non-finite x gives non-finite y.
  void (*mxfp4_prepare)(const float* x, size_t x_stride, size_t cols, size_t positions,
                        float* scratch);
  void (*matvec_mxfp4)(const uint8_t* packed, const uint8_t* scales, size_t rows, size_t cols,
                       const float* scratch, size_t positions, float* y, size_t y_stride);

  // y[i] = x[i] / sqrt(mean(x^2) + eps) * w[i]. y may be x.
  void (*rms_norm)(const float* x, const float* weight, size_t n, float eps, float* y);

  // y[i] = beta*tanh(gate/beta)*sig(gate) * cap(up);  cap(u) = linear_beta*tanh(u/linear_beta), or
  // u itself where linear_beta is 0. The sigmoid takes the raw gate. y may be gate or up.
  void (*situ_glu)(const float* gate, const float* up, size_t n, float beta, float linear_beta,
                   float* y);

  // Causal depthwise convolution of one position, then SiLU. taps [channels][K], the last tap for
  // the current input; history [K-1][channels], oldest first, projected but not convolved values.
  void (*short_conv_silu)(const float* taps, const float* history, const float* x, size_t channels,
                          size_t taps_per_channel, float* y);

  // y = x / sqrt(sum x^2 + 1e-6) * scale, over one head of n values. y may be x.
  void (*l2_normalize)(const float* x, size_t n, float scale, float* y);

  // alpha[i] = exp(g), g = lower_bound * sig(a * (z[i] + dt_bias[i])), a = exp(A_log[head]); with
  // lower_bound 0 the older form g = -a * softplus(z + dt_bias). One head of n channels. alpha may
  // be z.
  void (*kda_decay)(const float* z, const float* dt_bias, size_t n, float a, float lower_bound,
                    float* alpha);

  // One delta-rule step of one head; S is [D][D], key channel by value channel:
  //   S[i][:] *= alpha[i];  u = sum_i k[i] S[i][:];  S[i][:] += k[i] beta (v - u);
  //   o = sum_i q[i] S[i][:]
  // Reads `before`, writes `after` (may be the same memory, else apart) and o [D].
  void (*kda_step)(const float* before, const float* q, const float* k, const float* v,
                   const float* alpha, float beta, size_t d, float* after, float* o);

  // y[i] = rms_norm(o)[i] * sig(gate[i]) over one head of n values. y may be o.
  void (*gated_norm)(const float* o, const float* weight, const float* gate, size_t n, float eps,
                     float* y);

  // y[i] = x[i] * sig(gate[i]). y may be x.
  void (*sigmoid_gate)(const float* x, const float* gate, size_t n, float* y);

  // y[i] = sig(x[i]). y may be x.
  void (*sigmoid)(const float* x, size_t n, float* y);

  // Attention residual of one position: out = sum_j p_j sources[j], p the softmax of
  // factor . sources[j] / sqrt(mean(sources[j]^2) + eps), factor = norm weight * projection weight.
  // 1 <= count <= kMaxResidualSources; a single source is copied exactly. out may not be a source.
  void (*residual_mix)(const float* const* sources, size_t count, const float* factor, size_t n,
                       float eps, float* out);

  // y[i] += a * x[i], rounded once.
  void (*add_scaled)(const float* x, float a, size_t n, float* y);

  // out[i] = value of bf16 w[i]
  void (*widen_bf16)(const uint16_t* w, size_t n, float* out);

  // True when every value is finite.
  bool (*all_finite)(const float* x, size_t n);

  // y[i] = exp(x[i] - shift); returns the sum of y. y may be x.
  float (*exp_minus)(const float* x, float shift, size_t n, float* y);
};

// Floats that mxfp4_prepare writes for `positions` vectors of `cols` values.
size_t Mxfp4ScratchFloats(size_t cols, size_t positions);

const Kernels& ScalarKernels();
// nullptr where this build or this CPU has none.
const Kernels* Avx2Kernels();
const Kernels* Avx512Kernels();

}  // namespace penstock::ops
