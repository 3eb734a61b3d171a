#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/attention.h"
#include "ops/router.h"

// Every operator as plain loops in double: the oracle of the tests. Nothing here is fast, nothing
// shares code with the kernels, and every sum runs left to right. Matrices are row-major [out][in],
// applied as y = W x. Sizes follow from the spans; a span of the wrong size is a broken check.
// Threads: re-entrant. Errors: none.
namespace penstock::ops::reference {

using Vector = std::vector<double>;
using View = std::span<const double>;

// --- scalar functions
// -----------------------------------------------------------------------------

double Sigmoid(double x);   // 1 / (1 + exp(-x))
double Silu(double x);      // x * Sigmoid(x)
double Softplus(double x);  // log(1 + exp(x)), without overflow

// --- stored formats
// -------------------------------------------------------------------------------

double Bf16Value(uint16_t bits);
Vector WidenBf16(std::span<const uint16_t> w);
Vector WidenF32(std::span<const float> w);

// One MXFP4 element (OCP MX specification 1.0): code is 4 bits of E2M1 (8 is minus zero), scale is
// E8M0: 2^(scale - 127), 0 is 2^-127, 255 is NaN.
double Mxfp4Value(uint8_t code, uint8_t scale);

// packed [rows][cols/2], low nibble first; scales [rows][cols/32]  ->  [rows][cols]
Vector DecodeMxfp4(std::span<const uint8_t> packed, std::span<const uint8_t> scales, size_t rows,
                   size_t cols);

// --- products
// -------------------------------------------------------------------------------------

Vector MatVec(View w, size_t rows, size_t cols, View x);            // [rows]
Vector MatVecTransposed(View w, size_t rows, size_t cols, View x);  // x [rows] -> [cols]
Vector MatVecBf16(std::span<const uint16_t> w, size_t rows, size_t cols, View x);
Vector MatVecBf16Transposed(std::span<const uint16_t> w, size_t rows, size_t cols, View x);
Vector MatVecMxfp4(std::span<const uint8_t> packed, std::span<const uint8_t> scales, size_t rows,
                   size_t cols, View x);

// --- norms and gates
// ------------------------------------------------------------------------------

// x / sqrt(mean(x^2) + eps) * weight
Vector RmsNorm(View x, View weight, double eps);

// x / sqrt(sum(x^2) + 1e-6) * scale
Vector L2Normalize(View x, double scale);

// beta*tanh(gate/beta)*sigmoid(gate) * linear_beta*tanh(up/linear_beta); linear_beta 0: times up.
Vector SituGlu(View gate, View up, double beta, double linear_beta);

// x * sigmoid(gate)
Vector SigmoidGate(View x, View gate);

// --- Kimi delta attention, one position
// -------------------------------------------------------------

// taps [channels][K], history [K-1][channels] oldest first, x [channels] -> silu(convolution).
// Channels is x.size(), K follows from taps.
Vector ShortConvSilu(View taps, View history, View x);

// One head: alpha = exp(lower_bound * sigmoid(a * (z + dt_bias))), a = exp(A_log[head]);
// lower_bound 0: alpha = exp(-a * softplus(z + dt_bias)).
Vector KdaDecay(View z, View dt_bias, double a, double lower_bound);

// One head. state [D][D], key channel by value channel, updated in place; returns o [D]:
//   S[i][:] *= alpha[i];  u = sum_i k[i] S[i][:];  S[i][:] += k[i] beta (v - u);  o = sum_i q[i]
//   S[i][:]
Vector KdaStep(std::span<double> state, View q, View k, View v, View alpha, double beta);

// RmsNorm(o, weight, eps) * sigmoid(gate), one head
Vector GatedNorm(View o, View weight, View gate, double eps);

// --- attention residual
// ---------------------------------------------------------------------------

// z_j = sum_i factor_i s_j[i] / sqrt(mean(s_j^2) + eps); softmax over j; sum_j p_j s_j.
// factor = norm weight * projection weight.
Vector ResidualMix(std::span<const Vector> sources, View factor, double eps);

// --- router
// ---------------------------------------------------------------------------------------

struct Choice {
  std::vector<uint32_t> ids;  // [top_k], by descending biased score, ties to the lower id
  Vector weights;             // [top_k], from the unbiased scores
};

// logits [experts] before the sigmoid, bias [experts].
Choice Route(const RouterConfig& config, View logits, View bias);

// --- latent attention, one query position
// -----------------------------------------------------------

// The plain expanded form: keys and values of every cached position come out of kv_b, head by head.
//   kv_b     [heads * (nope + value)][latent], per head the nope rows first
//   q        [heads][nope + rope]
//   cache    [positions][latent + rope]: the normed latent, then the shared key slots
//   returns  [heads][value]
Vector ExpandedAttention(const LatentShape& shape, View kv_b, View q, View cache, size_t positions);

}  // namespace penstock::ops::reference
