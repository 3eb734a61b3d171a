// Claim: one delta-rule step of a head of 128 x 128 runs at the rate at which its state is read and
//   written; the other KDA kernels are small beside it.
// Unit: bytes read and written a second of one thread (state: 64 KiB in, 64 KiB out).
// Bound: for states in memory, the read bandwidth and the write that goes with it; a token of the
//   released model touches 69 layers x 96 heads of them, 434 MB in and 434 MB out.
// Run: penstock_ops_bench --benchmark_filter='Kda|ShortConv' --benchmark_repetitions=9

#include <vector>

#include "bench/ops/bandwidth.h"
#include "bench/ops/records.h"

namespace penstock::bench {
namespace {

constexpr size_t kHead = 128;
constexpr size_t kHeads = 96;
constexpr size_t kState = kHead * kHead;

// All heads of `layers` layers, from one state to another: 1 stays in the caches, 16 does not.
void KdaStep(benchmark::State& state, const ops::Kernels& kernels) {
  const auto layers = static_cast<size_t>(state.range(0));
  const std::vector<float> before(layers * kHeads * kState, 0.01f);
  std::vector<float> after(before.size());
  const std::vector<float> row(kHead, 0.1f);
  std::vector<float> o(kHead);
  BytesMeter meter(state, 2 * before.size() * sizeof(float));
  for (auto _ : state) {
    for (size_t head = 0; head < layers * kHeads; ++head) {
      kernels.kda_step(before.data() + head * kState, row.data(), row.data(), row.data(),
                       row.data(), 0.5f, kHead, after.data() + head * kState, o.data());
    }
    benchmark::ClobberMemory();
  }
}
const bool kStep = RegisterForRecords(
    "BM_KdaStep", KdaStep, [](auto* benchmark) { benchmark->ArgName("layers")->Arg(1)->Arg(16); });

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
