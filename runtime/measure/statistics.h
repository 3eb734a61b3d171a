#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

// What the samples of one arm come to. In the unit of the samples.
struct Summary {
  double best = 0;  // The smallest: what is measured is time.
  double median = 0;
  double worst = 0;
  double spread = 0;  // The middle half of the samples, third less first quartile, over the median.
};

// Of at least one sample, in any order. Quartiles lie between two samples in proportion.
Summary Summarize(std::span<const double> samples);
double Median(std::span<const double> samples);

// a[round] / b[round], pair by pair. As many of one as of the other.
std::vector<double> PairRatios(std::span<const double> a, std::span<const double> b);

// The median of a[round] / b[round]: how much longer `a` takes than `b`, from pairs that were
// measured under about the same conditions. As many of one as of the other.
double MedianRatio(std::span<const double> a, std::span<const double> b);

// part / whole; 0 of nothing.
inline double Share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace penstock
