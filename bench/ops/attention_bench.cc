// Claim: none yet; what latent attention costs as a context grows.
// Unit: positions of the cache attended to a second by one group of heads, one thread; flops.
// Bound: 8 heads x (576 + 512) multiplications and additions a position at the released widths, by
//   baseline vectors of four lanes; pages beyond the kept ones (4096 positions) are scored twice.
// Run: penstock_ops_bench --benchmark_filter=LatentAttention --benchmark_repetitions=9

#include <vector>

#include "bench/ops/bandwidth.h"
#include "bench/ops/records.h"
#include "ops/attention.h"

namespace penstock::bench {
namespace {

void LatentAttention(benchmark::State& state, const ops::Kernels& kernels) {
  const ops::LatentShape shape{.heads = 8, .nope = 128, .rope = 64, .value = 128, .latent = 512};
  const auto positions = static_cast<size_t>(state.range(0));
  const std::vector<uint16_t> kv_b(shape.heads * (shape.nope + shape.value) * shape.latent, 0x3c00);
  const std::vector<float> q(shape.heads * (shape.nope + shape.rope), 0.1f);
  const std::vector<float> page(ops::kPagePositions * shape.width(), 0.1f);
  const std::vector<const float*> pages((positions + ops::kPagePositions - 1) / ops::kPagePositions,
                                        page.data());
  std::vector<float> scratch(ops::LatentScratchFloats(shape));
  std::vector<float> out(shape.heads * shape.value);
  for (auto _ : state) {
    ops::LatentAttention(kernels, shape, 0, kv_b.data(), q.data(), pages, positions, scratch.data(),
                         out.data());
    benchmark::ClobberMemory();
  }
  const auto attended = static_cast<double>(positions * state.iterations());
  const auto flops = static_cast<double>(2 * shape.heads * (shape.width() + shape.latent));
  state.counters["positions"] = benchmark::Counter(attended, benchmark::Counter::kIsRate);
  state.counters["flops"] = benchmark::Counter(attended * flops, benchmark::Counter::kIsRate);
}
const bool kAttention = RegisterForRecords(
    "BM_LatentAttention", LatentAttention,
    [](auto* benchmark) { benchmark->ArgName("positions")->Arg(64)->Arg(4096)->Arg(16384); });

}  // namespace
}  // namespace penstock::bench
