// Claim: none; the bounds that the other files of this folder are read against.
// Unit: bytes a second of one thread, in processor time.
// Bound: the memory's own; one linear stream under-reports it, hence 1, 4 and 8.
// Run: penstock_ops_bench --benchmark_filter='BM_(Read|Memcpy)' --benchmark_repetitions=9

#include <cstring>
#include <vector>

#include "bench/ops/bandwidth.h"

namespace penstock::bench {
namespace {

constexpr size_t kBytes = StreamedWeights::kBytes / 4;

void BM_Read(benchmark::State& state) {
  StreamedWeights weights;
  const int streams = static_cast<int>(state.range(0));
  BytesMeter meter(state, kBytes);
  for (auto _ : state) {
    const auto* values = reinterpret_cast<const float*>(weights.Next(kBytes));
    benchmark::DoNotOptimize(SumStreams(values, kBytes / sizeof(float), streams));
  }
}
BENCHMARK(BM_Read)->ArgName("streams")->Arg(1)->Arg(4)->Arg(8);

void BM_Memcpy(benchmark::State& state) {
  StreamedWeights weights;
  std::vector<uint8_t> copy(kBytes);
  BytesMeter meter(state, kBytes);
  for (auto _ : state) {
    std::memcpy(copy.data(), weights.Next(kBytes), kBytes);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_Memcpy);

}  // namespace
}  // namespace penstock::bench
