#include "models/text/choose/log_probability.h"

#include <algorithm>
#include <cmath>

#include "models/text/sampler.h"
#include "runtime/check.h"

namespace penstock::text {
namespace {

// 2 atanh(s) = ln((1 + s) / (1 - s)) for |s| <= 0.1716 by its series: the next term is below 1e-18
// of the sum.
double TwiceArtanh(double s) {
  const double square = s * s;
  double sum = 0;
  for (int n = 21; n > 1; n -= 2) sum = (sum + 1.0 / n) * square;
  return 2 * (s + s * sum);
}

// Adds and keeps what was rounded off (Neumaier, "Rundungsfehleranalyse einiger Verfahren zur
// Summation endlicher Summen", 1974).
void AddTo(double& sum, double& lost, double value) {
  const double total = sum + value;
  lost += std::abs(sum) >= std::abs(value) ? (sum - total) + value : (value - total) + sum;
  sum = total;
}

}  // namespace

double LogOnePlus(double x) {
  PENSTOCK_CHECK(x >= 0 && std::isfinite(x));
  if (x < 0.4) return TwiceArtanh(x / (2 + x));
  // 1 + x = 2^k m with m in [1/sqrt(2), sqrt(2)).
  int k = 0;
  double m = std::frexp(1 + x, &k);
  if (m < 0.7071067811865476) {
    m *= 2;
    --k;
  }
  // ln 2 in two parts: the first has 32 bits, so that its product with k is exact.
  constexpr double kLn2High = 0x1.62e42feep-1;
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  return k * kLn2High + (TwiceArtanh((m - 1) / (m + 1)) + k * kLn2Low);
}

Result<double> LogProbability(std::span<const float> logits, TokenId id) {
  PENSTOCK_CHECK(id < logits.size());
  PENSTOCK_TRY(const TokenId largest, ArgMax(logits));  // Checks that all are finite.
  const double top = logits[largest];
  // The largest one's own 1 stays out, so that what is left of 1 - p keeps its digits.
  double rest = 0, lost = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (i != largest) AddTo(rest, lost, SamplerExp(logits[i] - top));
  }
  return (logits[id] - top) - LogOnePlus(rest + lost);
}

void Score::Add(double log_probability) {
  PENSTOCK_CHECK(log_probability <= 0);
  ++ids_;
  AddTo(sum_, lost_, log_probability);
}

std::optional<double> Score::perplexity() const {
  if (ids_ == 0) return std::nullopt;
  return 1 / SamplerExp(log_probability() / static_cast<double>(ids_));
}

}  // namespace penstock::text
