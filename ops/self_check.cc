#include <bit>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "ops/isa.h"

namespace penstock::ops {
namespace {

// SplitMix64: enough for test shapes and values, and the same on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  size_t Size(size_t low, size_t high) { return low + Next() % (high - low + 1); }
  float Value() { return static_cast<float>(static_cast<int64_t>(Next()) >> 40) * 0x1p-21f; }
  std::vector<float> Values(size_t n) {
    std::vector<float> values(n);
    for (float& value : values) value = Value();
    return values;
  }
  std::vector<uint16_t> Bf16(size_t n) {
    std::vector<uint16_t> values(n);
    for (uint16_t& value : values) {
      value = static_cast<uint16_t>(std::bit_cast<uint32_t>(Value()) >> 16);
    }
    return values;
  }
  std::vector<uint8_t> Bytes(size_t n) {
    std::vector<uint8_t> values(n);
    for (uint8_t& value : values) value = static_cast<uint8_t>(Next());
    return values;
  }

 private:
  uint64_t state_;
};

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (std::bit_cast<uint32_t>(a[i]) != std::bit_cast<uint32_t>(b[i])) return false;
  }
  return a.size() == b.size();
}

using Outputs = std::vector<float>;
// Draws one case from the generator and runs it with the kernels given.
using Case = Outputs (*)(const Kernels&, Random&);

Outputs Bf16Case(const Kernels& kernels, Random& random) {
  const size_t rows = random.Size(1, 19);
  const size_t cols = random.Size(1, 90);
  const size_t positions = random.Size(1, 5);
  const auto w = random.Bf16(rows * cols);
  const auto x = random.Values(positions * cols);
  Outputs y(positions * rows);
  kernels.matvec_bf16(w.data(), rows, cols, x.data(), cols, positions, y.data(), rows);
  return y;
}

Outputs Bf16TransposedCase(const Kernels& kernels, Random& random) {
  const size_t rows = random.Size(1, 19);
  const size_t cols = random.Size(1, 90);
  const auto w = random.Bf16(rows * cols);
  const auto x = random.Values(rows);
  Outputs y(cols);
  kernels.matvec_bf16_transposed(w.data(), rows, cols, x.data(), y.data());
  return y;
}

Outputs Mxfp4Case(const Kernels& kernels, Random& random) {
  const size_t rows = random.Size(1, 9);
  const size_t cols = 32 * random.Size(1, 9);
  const size_t positions = random.Size(1, 5);
  const auto packed = random.Bytes(rows * cols / 2);
  const auto scales = random.Bytes(rows * cols / 32);
  const auto x = random.Values(positions * cols);
  Outputs scratch(Mxfp4ScratchFloats(cols, positions));
  kernels.mxfp4_prepare(x.data(), cols, cols, positions, scratch.data());
  Outputs y(positions * rows);
  kernels.matvec_mxfp4(packed.data(), scales.data(), rows, cols, scratch.data(), positions,
                       y.data(), rows);
  return y;
}

Outputs NormCase(const Kernels& kernels, Random& random) {
  const size_t n = random.Size(1, 90);
  const auto x = random.Values(n);
  const auto w = random.Values(n);
  Outputs y(3 * n);
  kernels.rms_norm(x.data(), w.data(), n, 1e-5f, y.data());
  kernels.l2_normalize(x.data(), n, 0.3f, y.data() + n);
  kernels.gated_norm(x.data(), w.data(), x.data(), n, 1e-5f, y.data() + 2 * n);
  return y;
}

Outputs GateCase(const Kernels& kernels, Random& random) {
  const size_t n = random.Size(1, 90);
  auto gate = random.Values(n);
  for (float& value : gate) value *= 16.0f;
  const auto up = random.Values(n);
  Outputs y(6 * n);
  kernels.situ_glu(gate.data(), up.data(), n, 4.0f, 25.0f, y.data());
  kernels.situ_glu(gate.data(), up.data(), n, 1.0f, 0.0f, y.data() + n);
  kernels.sigmoid_gate(up.data(), gate.data(), n, y.data() + 2 * n);
  kernels.sigmoid(gate.data(), n, y.data() + 3 * n);
  y.push_back(kernels.exp_minus(gate.data(), 3.0f, n, y.data() + 4 * n));
  kernels.add_scaled(gate.data(), 0.7f, n, y.data() + 5 * n);
  y.push_back(kernels.all_finite(y.data(), n) ? 1.0f : 0.0f);
  const auto stored = random.Bf16(n);
  Outputs widened(n);
  kernels.widen_bf16(stored.data(), n, widened.data());
  y.insert(y.end(), widened.begin(), widened.end());
  return y;
}

Outputs ConvolutionCase(const Kernels& kernels, Random& random) {
  const size_t channels = random.Size(1, 50);
  const size_t taps = random.Size(1, 4);
  const auto w = random.Values(channels * taps);
  const auto history = random.Values(channels * taps);
  const auto x = random.Values(channels);
  Outputs y(channels);
  kernels.short_conv_silu(w.data(), history.data(), x.data(), channels, taps, y.data());
  return y;
}

Outputs DeltaRuleCase(const Kernels& kernels, Random& random) {
  const size_t d = random.Size(1, 160);
  Outputs alpha(2 * d);
  const auto z = random.Values(d);
  const auto bias = random.Values(d);
  kernels.kda_decay(z.data(), bias.data(), d, 1.5f, -5.0f, alpha.data());
  kernels.kda_decay(z.data(), bias.data(), d, 1.5f, 0.0f, alpha.data() + d);
  const auto before = random.Values(d * d);
  const auto q = random.Values(d);
  const auto k = random.Values(d);
  const auto v = random.Values(d);
  Outputs after(d * d);
  Outputs o(d);
  kernels.kda_step(before.data(), q.data(), k.data(), v.data(), alpha.data(), 0.4f, d, after.data(),
                   o.data());
  after.insert(after.end(), o.begin(), o.end());
  after.insert(after.end(), alpha.begin(), alpha.end());
  return after;
}

Outputs ResidualCase(const Kernels& kernels, Random& random) {
  const size_t count = random.Size(1, 9);
  const size_t n = random.Size(1, 90);
  const auto values = random.Values(count * n);
  const auto factor = random.Values(n);
  std::vector<const float*> sources;
  for (size_t j = 0; j < count; ++j) sources.push_back(values.data() + j * n);
  Outputs out(n);
  kernels.residual_mix(sources.data(), count, factor.data(), n, 1e-5f, out.data());
  return out;
}

constexpr std::pair<const char*, Case> kCases[] = {
    {"matvec_bf16", Bf16Case},
    {"matvec_bf16_transposed", Bf16TransposedCase},
    {"matvec_mxfp4", Mxfp4Case},
    {"the norms", NormCase},
    {"the gates", GateCase},
    {"short_conv_silu", ConvolutionCase},
    {"kda_step or kda_decay", DeltaRuleCase},
    {"residual_mix", ResidualCase},
};
constexpr int kRounds = 6;

}  // namespace

std::string FirstDifference(const Kernels& kernels, uint64_t seed) {
  for (const auto& [name, run] : kCases) {
    for (int round = 0; round < kRounds; ++round) {
      Random ours(seed + static_cast<uint64_t>(round));
      Random theirs = ours;
      if (!SameBits(run(kernels, ours), run(ScalarKernels(), theirs))) return name;
    }
  }
  return {};
}

}  // namespace penstock::ops
