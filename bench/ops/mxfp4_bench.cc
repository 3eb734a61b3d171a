// Claim: MXFP4 weights are decoded in registers at least 4.5 times as fast as plain loops in double
//   and 1.4 times as fast as an exact kernel that looks each code up in a table; four vectors in
//   one pass give at least 1.7 times the positions a second of one.
// Unit: bytes of codes and scales (17 for 32 weights) a second of one thread; `of_read` is the
// share
//   of the read bandwidth measured in the same run.
// Bound: about 34 instructions for 32 bytes, so instructions rather than memory.
// The losers stay for comparison: the table look-up and the plain loops, both exact.
// Run: penstock_ops_bench --benchmark_filter=Mxfp4 --benchmark_repetitions=9
//        --benchmark_enable_random_interleaving=true --benchmark_report_aggregates_only=true

#include <cmath>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "bench/ops/bandwidth.h"
#include "bench/ops/records.h"

namespace penstock::bench {
namespace {

constexpr size_t kRows = 3072;
constexpr size_t kCols = 3584;
constexpr size_t kPacked = kRows * kCols / 2;
constexpr size_t kScales = kRows * kCols / 32;

void MatvecMxfp4(benchmark::State& state, const ops::Kernels& kernels) {
  const auto positions = static_cast<size_t>(state.range(0));
  StreamedWeights weights;
  const std::vector<float> x(positions * kCols, 0.5f);
  std::vector<float> y(positions * kRows);
  std::vector<float> scratch(ops::Mxfp4ScratchFloats(kCols, positions));
  kernels.mxfp4_prepare(x.data(), kCols, kCols, positions, scratch.data());
  {
    BytesMeter meter(state, kPacked + kScales);
    for (auto _ : state) {
      const uint8_t* w = weights.Next(kPacked + kScales);
      kernels.matvec_mxfp4(w, w + kPacked, kRows, kCols, scratch.data(), positions, y.data(),
                           kRows);
      benchmark::ClobberMemory();
    }
  }
  state.counters["positions"] =
      benchmark::Counter(static_cast<double>(positions * state.iterations()),
                         benchmark::Counter::kIsRate, benchmark::Counter::OneK::kIs1000);
}
const bool kMatvec = RegisterForRecords("BM_MatvecMxfp4", MatvecMxfp4, [](auto* benchmark) {
  benchmark->ArgName("T")->Arg(1)->Arg(2)->Arg(3)->Arg(4)->Arg(8);
});

void Mxfp4Prepare(benchmark::State& state, const ops::Kernels& kernels) {
  const auto positions = static_cast<size_t>(state.range(0));
  const std::vector<float> x(positions * kCols, 0.5f);
  std::vector<float> scratch(ops::Mxfp4ScratchFloats(kCols, positions));
  BytesMeter meter(state, x.size() * sizeof(float));
  for (auto _ : state) {
    kernels.mxfp4_prepare(x.data(), kCols, kCols, positions, scratch.data());
    benchmark::ClobberMemory();
  }
}
const bool kPrepare = RegisterForRecords("BM_Mxfp4Prepare", Mxfp4Prepare, [](auto* benchmark) {
  benchmark->ArgName("T")->Arg(1)->Arg(4);
});

void BM_Mxfp4PlainDouble(benchmark::State& state) {
  constexpr double kValues[16] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0., -0.5, -1, -1.5, -2, -3, -4, -6};
  double powers[256];
  for (int s = 0; s < 256; ++s) powers[s] = s == 255 ? std::nan("") : std::ldexp(1.0, s - 127);
  StreamedWeights weights;
  const std::vector<float> x(kCols, 0.5f);
  std::vector<double> y(kRows);
  BytesMeter meter(state, kPacked + kScales);
  for (auto _ : state) {
    const uint8_t* w = weights.Next(kPacked + kScales);
    for (size_t r = 0; r < kRows; ++r) {
      double sum = 0;
      for (size_t g = 0; g < kCols / 32; ++g) {
        double group = 0;
        for (size_t b = 0; b < 16; ++b) {
          const uint8_t codes = w[r * (kCols / 2) + 16 * g + b];
          group += kValues[codes & 15] * static_cast<double>(x[32 * g + 2 * b]);
          group += kValues[codes >> 4] * static_cast<double>(x[32 * g + 2 * b + 1]);
        }
        sum += group * powers[w[kPacked + r * (kCols / 32) + g]];
      }
      y[r] = sum;
    }
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_Mxfp4PlainDouble);

#if defined(__x86_64__)

// One row: each 32-bit lane holds eight codes; the k-th selects a magnitude by a permutation of a
// table and takes its sign from the code's top bit. One FMA a vector, one for the scales of 64
// weights, as in the kernel that won. x is permuted: [cols/64][k][8 lanes].
__attribute__((target("avx2,fma"))) float TableLookupRow(const uint8_t* codes,
                                                         const uint8_t* scales, const float* powers,
                                                         const float* x) {
  const __m256 table = _mm256_setr_ps(0, 0.5f, 1, 1.5f, 2, 3, 4, 6);
  const __m256i sign = _mm256_set1_epi32(static_cast<int>(0x80000000u));
  __m256 total = _mm256_setzero_ps();
  for (size_t g = 0; g < kCols / 32; g += 2) {
    const __m256i block = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes + 16 * g));
    __m256 sum = _mm256_setzero_ps();
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) {
      const __m256 magnitude = _mm256_permutevar8x32_ps(table, _mm256_srli_epi32(block, 4 * k));
      const __m256i signs = _mm256_and_si256(_mm256_slli_epi32(block, 28 - 4 * k), sign);
      const __m256 weight = _mm256_xor_ps(magnitude, _mm256_castsi256_ps(signs));
      sum = _mm256_fmadd_ps(weight, _mm256_loadu_ps(x + 32 * g + 8 * k), sum);
    }
    const __m256 scale = _mm256_set_m128(_mm_broadcast_ss(powers + scales[g + 1]),
                                         _mm_broadcast_ss(powers + scales[g]));
    total = _mm256_fmadd_ps(sum, scale, total);
  }
  float lanes[8];
  _mm256_storeu_ps(lanes, total);
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
         ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

void BM_Mxfp4TableLookup(benchmark::State& state) {
  if (ops::Avx2Kernels() == nullptr) {
    state.SkipWithError("this CPU has no AVX2");
    return;
  }
  float powers[256];
  for (int s = 0; s < 256; ++s) powers[s] = s == 255 ? NAN : std::ldexp(1.0f, s - 127);
  StreamedWeights weights;
  const std::vector<float> x(kCols, 0.5f);
  std::vector<float> y(kRows);
  BytesMeter meter(state, kPacked + kScales);
  for (auto _ : state) {
    const uint8_t* w = weights.Next(kPacked + kScales);
    for (size_t r = 0; r < kRows; ++r) {
      y[r] = TableLookupRow(w + r * (kCols / 2), w + kPacked + r * (kCols / 32), powers, x.data());
    }
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_Mxfp4TableLookup);

#endif

}  // namespace
}  // namespace penstock::bench
