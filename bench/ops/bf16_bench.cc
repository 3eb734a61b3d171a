// Claim: a large bf16 matrix times one vector runs near the rate at which memory is read; four
//   vectors in one pass give at least 2.4 times the positions a second of one.
// Unit: bytes of weights a second of one thread; `of_read` is the share of the read bandwidth
//   measured in the same run, `positions` counts rows of weights times vectors.
// Bound: the read bandwidth (one vector); 2 FMA of 8 lanes a cycle (several vectors).
// The losers stay for comparison: plain loops in double, and Eigen's cast of each element.
// Run: penstock_ops_bench --benchmark_filter='BM_(MatvecBf16|Bf16)' --benchmark_repetitions=9
//        --benchmark_enable_random_interleaving=true --benchmark_report_aggregates_only=true

#include <bit>
#include <vector>

#include "bench/ops/bandwidth.h"
#include "bench/ops/records.h"
#include "ops/eigen.h"

namespace penstock::bench {
namespace {

constexpr size_t kRows = 3584;
constexpr size_t kCols = 7168;
constexpr size_t kBytes = kRows * kCols * sizeof(uint16_t);

const uint16_t* NextMatrix(StreamedWeights& weights) {
  return reinterpret_cast<const uint16_t*>(weights.Next(kBytes));
}

void MatvecBf16(benchmark::State& state, const ops::Kernels& kernels) {
  const auto positions = static_cast<size_t>(state.range(0));
  StreamedWeights weights;
  const std::vector<float> x(positions * kCols, 0.5f);
  std::vector<float> y(positions * kRows);
  {
    BytesMeter meter(state, kBytes);
    for (auto _ : state) {
      kernels.matvec_bf16(NextMatrix(weights), kRows, kCols, x.data(), kCols, positions, y.data(),
                          kRows);
      benchmark::ClobberMemory();
    }
  }
  state.counters["positions"] =
      benchmark::Counter(static_cast<double>(positions * state.iterations()),
                         benchmark::Counter::kIsRate, benchmark::Counter::OneK::kIs1000);
}
const bool kMatvec = RegisterForRecords("BM_MatvecBf16", MatvecBf16, [](auto* benchmark) {
  benchmark->ArgName("T")->Arg(1)->Arg(2)->Arg(3)->Arg(4)->Arg(8);
});

// The transposed product of one head: 128 rows of 512 latent columns, from the nearest cache.
void MatvecBf16Transposed(benchmark::State& state, const ops::Kernels& kernels) {
  const std::vector<uint16_t> w(size_t{128} * 512, 0x3f80);
  const std::vector<float> x(128, 0.5f);
  std::vector<float> y(512);
  BytesMeter meter(state, w.size() * sizeof(uint16_t));
  for (auto _ : state) {
    kernels.matvec_bf16_transposed(w.data(), 128, 512, x.data(), y.data());
    benchmark::ClobberMemory();
  }
}
const bool kTransposed = RegisterForRecords("BM_MatvecBf16Transposed", MatvecBf16Transposed);

void BM_Bf16PlainDouble(benchmark::State& state) {
  StreamedWeights weights;
  const std::vector<float> x(kCols, 0.5f);
  std::vector<double> y(kRows);
  BytesMeter meter(state, kBytes);
  for (auto _ : state) {
    const uint16_t* w = NextMatrix(weights);
    for (size_t r = 0; r < kRows; ++r) {
      double sum = 0;
      for (size_t c = 0; c < kCols; ++c) {
        const auto bits = static_cast<uint32_t>(w[r * kCols + c]) << 16;
        sum += static_cast<double>(std::bit_cast<float>(bits)) * static_cast<double>(x[c]);
      }
      y[r] = sum;
    }
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_Bf16PlainDouble);

void BM_Bf16EigenCast(benchmark::State& state) {
  using Stored = Eigen::Matrix<Eigen::bfloat16, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  StreamedWeights weights;
  const Eigen::VectorXf x = Eigen::VectorXf::Constant(kCols, 0.5f);
  Eigen::VectorXf y(kRows);
  BytesMeter meter(state, kBytes);
  for (auto _ : state) {
    const Eigen::Map<const Stored> w(reinterpret_cast<const Eigen::bfloat16*>(NextMatrix(weights)),
                                     kRows, kCols);
    y.noalias() = w.cast<float>() * x;
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_Bf16EigenCast);

}  // namespace
}  // namespace penstock::bench
