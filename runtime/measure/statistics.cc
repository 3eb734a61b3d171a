#include "runtime/measure/statistics.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "runtime/check.h"

namespace penstock {
namespace {

// The value that a share `part` of the sorted samples is below.
double Quantile(const std::vector<double>& sorted, double part) {
  const double at = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (at - static_cast<double>(below));
}

}  // namespace

Summary Summarize(std::span<const double> samples) {
  PENSTOCK_CHECK(!samples.empty());
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  Summary out{sorted.front(), Quantile(sorted, 0.5), sorted.back(), 0};
  if (out.median > 0) out.spread = (Quantile(sorted, 0.75) - Quantile(sorted, 0.25)) / out.median;
  return out;
}

double Median(std::span<const double> samples) { return Summarize(samples).median; }

std::vector<double> PairRatios(std::span<const double> a, std::span<const double> b) {
  PENSTOCK_CHECK(a.size() == b.size());
  std::vector<double> ratios(a.size());
  for (size_t i = 0; i < a.size(); ++i) ratios[i] = a[i] / b[i];
  return ratios;
}

double MedianRatio(std::span<const double> a, std::span<const double> b) {
  return Median(PairRatios(a, b));
}

}  // namespace penstock
