#include "ops/codec/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/check.h"

namespace penstock::ops {
namespace {

uint64_t Sum(std::span<const uint64_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

// How many of n magnitudes count as the tail.
uint64_t TailOf(uint64_t n) { return std::max<uint64_t>(10, n / 50); }

}  // namespace

double Entropy(std::span<const uint64_t> counts) {
  const auto n = static_cast<double>(Sum(counts));
  double bits = 0;
  for (const uint64_t count : counts) {
    if (count == 0) continue;
    const double share = static_cast<double>(count) / n;
    bits -= share * std::log2(share);
  }
  return std::max(bits, 0.0);  // Not -0 for a constant.
}

std::optional<TailIndex> HillTailIndex(std::span<const double> values,
                                       std::span<const uint64_t> counts) {
  PENSTOCK_CHECK(values.size() == counts.size());
  const uint64_t n = Sum(counts);
  if (n < kLeastForTail) return std::nullopt;
  const uint64_t used = TailOf(n);
  // The threshold is the largest magnitude that is not used itself.
  size_t at = values.size();
  for (uint64_t above = 0; above <= used;) above += counts[--at];
  const double threshold = values[at];
  double excess = 0;
  uint64_t left = used;
  for (size_t i = values.size(); i-- > at + 1 && left > 0;) {
    excess += static_cast<double>(counts[i]) * std::log(values[i] / threshold);
    left -= counts[i];
  }
  if (!(excess > 0)) return std::nullopt;
  const double alpha = static_cast<double>(used) / excess;
  return TailIndex{alpha, alpha / std::sqrt(static_cast<double>(used)), used};
}

EntropyBounds ExponentEntropyBounds(double alpha) {
  PENSTOCK_CHECK(alpha > 0);
  alpha = std::min(alpha, 2.0);
  return {alpha / (1 + std::exp2(-alpha)), alpha / -std::expm1(-alpha * std::log(2.0))};
}

}  // namespace penstock::ops
