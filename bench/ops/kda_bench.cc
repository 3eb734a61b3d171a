// Claim: what surrounds the delta-rule step (models/k3/bench/kernels) is small beside it.
// Unit: bytes read and written a second of one thread.
// Bound: the nearest caches.
// Run: penstock_ops_bench --benchmark_filter='Kda|ShortConv' --benchmark_repetitions=9

#include <vector>

#include "bench/ops/bandwidth.h"
#include "bench/ops/records.h"

namespace penstock::bench {
namespace {

constexpr size_t kHead = 128;
constexpr size_t kHeads = 96;

// The convolution of q, k or v of one layer.
void ShortConvSilu(benchmark::State& state, const ops::Kernels& kernels) {
  constexpr size_t kChannels = kHeads * kHead;
  constexpr size_t kTaps = 4;
  const std::vector<float> taps(kChannels * kTaps, 0.1f);
  const std::vector<float> history(kChannels * (kTaps - 1), 0.2f);
  const std::vector<float> x(kChannels, 0.3f);
  std::vector<float> y(kChannels);
  BytesMeter meter(state, (2 * kTaps + 1) * kChannels * sizeof(float));
  for (auto _ : state) {
    kernels.short_conv_silu(taps.data(), history.data(), x.data(), kChannels, kTaps, y.data());
    benchmark::ClobberMemory();
  }
}
const bool kConvolution = RegisterForRecords("BM_ShortConvSilu", ShortConvSilu);

// The decays of all heads of one layer.
void KdaDecay(benchmark::State& state, const ops::Kernels& kernels) {
  const std::vector<float> z(kHeads * kHead, 0.3f);
  const std::vector<float> bias(kHeads * kHead, 0.1f);
  std::vector<float> alpha(kHeads * kHead);
  BytesMeter meter(state, 3 * z.size() * sizeof(float));
  for (auto _ : state) {
    for (size_t i = 0; i < z.size(); i += kHead) {
      kernels.kda_decay(z.data() + i, bias.data() + i, kHead, 1.5f, -5.0f, alpha.data() + i);
    }
    benchmark::ClobberMemory();
  }
}
const bool kDecay = RegisterForRecords("BM_KdaDecay", KdaDecay);

// The gated norms of all heads of one layer, and the normalisation of its queries or keys.
void KdaNorms(benchmark::State& state, const ops::Kernels& kernels) {
  const std::vector<float> x(kHeads * kHead, 0.3f);
  const std::vector<float> weight(kHead, 0.1f);
  std::vector<float> y(kHeads * kHead);
  BytesMeter meter(state, 5 * x.size() * sizeof(float));
  for (auto _ : state) {
    for (size_t i = 0; i < x.size(); i += kHead) {
      kernels.l2_normalize(x.data() + i, kHead, 0.1f, y.data() + i);
      kernels.gated_norm(x.data() + i, weight.data(), x.data() + i, kHead, 1e-5f, y.data() + i);
    }
    benchmark::ClobberMemory();
  }
}
const bool kNorms = RegisterForRecords("BM_KdaNorms", KdaNorms);

}  // namespace
}  // namespace penstock::bench
