#include "models/text/sampler.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "runtime/check.h"

namespace penstock::text {
namespace {

Status CheckRange(const char* name, double value, double max) {
  if (value >= 0 && value <= max) return {};  // Not a number is in no range.
  return Refused(fmt::format("expected {} from 0 to {}, got {}", name, max, value));
}

Status CheckFinite(std::span<const float> logits) {
  for (size_t id = 0; id < logits.size(); ++id) {
    if (!std::isfinite(logits[id])) {
      return Unsound(fmt::format("expected finite logits, got {} for token id {}", logits[id], id));
    }
  }
  return {};
}

// The output function of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
// generators", 2014): a bijection whose every output bit depends on every input bit.
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// 1/n! for n = 0..13: on |r| <= ln(2)/2 the next term is below 1e-17 of the sum.
constexpr std::array<double, 14> kInverseFactorials = [] {
  std::array<double, 14> inverse{};
  double factorial = 1;  // Exact: 13! has 33 bits.
  for (size_t n = 0; n < inverse.size(); ++n) {
    if (n > 0) factorial *= static_cast<double>(n);
    inverse[n] = 1 / factorial;
  }
  return inverse;
}();

}  // namespace

double SamplerExp(double x) {
  PENSTOCK_CHECK(x <= 0);
  if (x < -708) return 0;
  // x = k ln 2 + r. ln 2 in two parts: the first has 32 bits, so that its product with k is exact.
  constexpr double kLog2E = 0x1.71547652b82fep+0;
  constexpr double kLn2High = 0x1.62e42feep-1;
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  const auto k = static_cast<int64_t>(x * kLog2E - 0.5);  // Nearest: x is not positive.
  const auto steps = static_cast<double>(k);
  const double r = (x - steps * kLn2High) - steps * kLn2Low;
  double sum = kInverseFactorials.back();
  for (size_t n = kInverseFactorials.size() - 1; n > 0; --n) {
    sum = sum * r + kInverseFactorials[n - 1];
  }
  // 2^k by its exponent field; k >= -1022 here, a normal number.
  return sum * std::bit_cast<double>(static_cast<uint64_t>(k + 1023) << 52);
}

double SamplerUniform(uint64_t seed, uint64_t position) {
  constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio, SplitMix64's step.
  // The seed is mixed before the position enters, so that (seed + 1, position) and
  // (seed, position + 1) have nothing in common.
  const uint64_t stream = Mix(seed + kGolden);
  const uint64_t bits = Mix(stream + (position + 1) * kGolden);
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

Result<TokenId> ArgMax(std::span<const float> logits) {
  PENSTOCK_CHECK(!logits.empty());
  PENSTOCK_TRY_VOID(CheckFinite(logits));
  // max_element gives the first of equals.
  return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

Result<Sampler> Sampler::Create(const SamplerOptions& options) {
  PENSTOCK_TRY_VOID(CheckRange("temp", options.temp, SamplerOptions::kMaxTemp));
  PENSTOCK_TRY_VOID(CheckRange("top-p", options.top_p, 1));
  PENSTOCK_TRY_VOID(CheckRange("min-p", options.min_p, 1));
  return Sampler(options);
}

Result<TokenId> Sampler::Sample(std::span<const float> logits, size_t position) {
  if (options_.temp == 0) return ArgMax(logits);
  PENSTOCK_CHECK(!logits.empty());
  PENSTOCK_TRY_VOID(CheckFinite(logits));
  RankCandidates(logits);
  KeepTopP();
  KeepMinP();
  return Draw(position);
}

void Sampler::RankCandidates(std::span<const float> logits) {
  candidates_.resize(logits.size());
  for (size_t id = 0; id < logits.size(); ++id) {
    candidates_[id] = {logits[id], 0, static_cast<TokenId>(id)};
  }
  const auto before = [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  };
  // The order is total: which k are selected and how they are sorted cannot depend on the library.
  if (options_.top_k > 0 && options_.top_k < candidates_.size()) {
    const auto kept = candidates_.begin() + static_cast<ptrdiff_t>(options_.top_k);
    std::nth_element(candidates_.begin(), kept, candidates_.end(), before);
    candidates_.erase(kept, candidates_.end());
  }
  std::sort(candidates_.begin(), candidates_.end(), before);
  for (Candidate& c : candidates_) c.weight = SamplerExp(c.logit - candidates_[0].logit);
}

void Sampler::KeepTopP() {
  if (options_.top_p >= 1) return;
  double total = 0;
  for (const Candidate& c : candidates_) total += c.weight;
  const double enough = options_.top_p * total;
  double sum = 0;
  size_t kept = 0;
  do {
    sum += candidates_[kept++].weight;
  } while (kept < candidates_.size() && sum < enough);
  candidates_.resize(kept);
}

void Sampler::KeepMinP() {
  // The largest has weight 1, and weights fall along the order.
  while (candidates_.back().weight < options_.min_p) candidates_.pop_back();
}

TokenId Sampler::Draw(size_t position) {
  const double largest = candidates_[0].logit;
  double total = 0;
  for (Candidate& c : candidates_) {
    c.weight = SamplerExp((c.logit - largest) / options_.temp);
    total += c.weight;
  }
  const double target = SamplerUniform(options_.seed, position) * total;
  double sum = 0;
  TokenId chosen = candidates_[0].id;
  for (const Candidate& c : candidates_) {
    if (c.weight == 0) break;  // Nor any after it.
    chosen = c.id;
    sum += c.weight;
    if (sum > target) break;
  }
  return chosen;
}

}  // namespace penstock::text
