// Claim: what is neither a product nor a state costs under 2 % of a token of the released model.
// Unit: bytes read and written a second of one thread; seconds an iteration.
// Bound: the nearest caches; a token of the released model does 186 residual mixes, 187 norms of
//   7168 values, 94 x 16 + 93 gates of 3072 to 33792 values and 92 routings of 896 experts.
// Run: penstock_ops_bench --benchmark_filter='RmsNorm|ResidualMix|Situ|Route|AllFinite'

#include <vector>

#include "bench/ops/bandwidth.h"
#include "bench/ops/records.h"
#include "ops/router.h"

namespace penstock::bench {
namespace {

constexpr size_t kHidden = 7168;

void RmsNorm(benchmark::State& state, const ops::Kernels& kernels) {
  const std::vector<float> x(kHidden, 0.3f);
  std::vector<float> y(kHidden);
  BytesMeter meter(state, 3 * kHidden * sizeof(float));
  for (auto _ : state) {
    kernels.rms_norm(x.data(), x.data(), kHidden, 1e-5f, y.data());
    benchmark::ClobberMemory();
  }
}
const bool kNorm = RegisterForRecords("BM_RmsNorm", RmsNorm);

void ResidualMix(benchmark::State& state, const ops::Kernels& kernels) {
  const auto count = static_cast<size_t>(state.range(0));
  const std::vector<float> values(count * kHidden, 0.3f);
  const std::vector<float> factor(kHidden, 0.01f);
  std::vector<const float*> sources;
  for (size_t j = 0; j < count; ++j) sources.push_back(values.data() + j * kHidden);
  std::vector<float> out(kHidden);
  BytesMeter meter(state, (count + 2) * kHidden * sizeof(float));
  for (auto _ : state) {
    kernels.residual_mix(sources.data(), count, factor.data(), kHidden, 1e-5f, out.data());
    benchmark::ClobberMemory();
  }
}
const bool kMix = RegisterForRecords("BM_ResidualMix", ResidualMix, [](auto* benchmark) {
  benchmark->ArgName("sources")->Arg(2)->Arg(9);
});

void SituGlu(benchmark::State& state, const ops::Kernels& kernels) {
  constexpr size_t kWidth = 3072;
  const std::vector<float> gate(kWidth, 0.3f);
  std::vector<float> y(kWidth);
  BytesMeter meter(state, 3 * kWidth * sizeof(float));
  for (auto _ : state) {
    kernels.situ_glu(gate.data(), gate.data(), kWidth, 4.0f, 25.0f, y.data());
    benchmark::ClobberMemory();
  }
}
const bool kSitu = RegisterForRecords("BM_SituGlu", SituGlu);

void AllFinite(benchmark::State& state, const ops::Kernels& kernels) {
  const std::vector<float> x(kHidden, 0.3f);
  BytesMeter meter(state, kHidden * sizeof(float));
  for (auto _ : state) benchmark::DoNotOptimize(kernels.all_finite(x.data(), kHidden));
}
const bool kFinite = RegisterForRecords("BM_AllFinite", AllFinite);

void BM_Route(benchmark::State& state) {
  const ops::RouterConfig config{.experts = 896, .top_k = 16};
  std::vector<float> scores;
  for (size_t e = 0; e < config.experts; ++e) {
    scores.push_back(static_cast<float>(e * 2654435761u % 4096) / 4096);
  }
  const std::vector<float> bias(config.experts, 0.01f);
  std::vector<float> scratch(config.experts);
  std::vector<uint32_t> ids(config.top_k);
  std::vector<float> chosen(config.top_k);
  for (auto _ : state) {
    ops::Route(config, scores.data(), bias.data(), scratch.data(), ids.data(), chosen.data());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_Route);

}  // namespace
}  // namespace penstock::bench
