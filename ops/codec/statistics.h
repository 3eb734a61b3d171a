#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace penstock::ops {

// Statistics that say how far weights can be coded without loss. Pure functions; threads: any.

// Shannon entropy of a symbol that occurred so often, in bits; 0 when nothing was counted. From a
// sample it comes out low by about (symbols - 1) / (2 ln 2 n) bits.
double Entropy(std::span<const uint64_t> counts);

// How fast a tail falls: P(|w| > x) goes as x^-alpha.
struct TailIndex {
  double alpha = 0;
  double error = 0;   // Standard error, alpha / sqrt(used).
  uint64_t used = 0;  // Order statistics that took part.
};

inline constexpr uint64_t kLeastForTail = 100;  // Fewer magnitudes give no estimate.

// Hill's estimate (B. M. Hill, Annals of Statistics 3, 1975) from a histogram: values[i] > 0, finite
// and ascending, occurred counts[i] times. It uses the largest 2 % of the magnitudes, at least 10:
// few enough to lie in the tail, and of a million they give an error of 0.7 %. Nothing when there
// are too few magnitudes, or when those used are all equal.
// Weights with tails like a normal distribution's have no index: the estimate is then large and
// grows with the sample.
std::optional<TailIndex> HillTailIndex(std::span<const double> values,
                                       std::span<const uint64_t> counts);

struct EntropyBounds {
  double lower = 0;
  double upper = 0;
};

// Bounds on the entropy of the exponent, in bits, for alpha-stable weights as Yang et al. state them
// ("To Compress or Not? Pushing the Frontier of Lossless GenAI Model Weights Compression with
// Exponent Concentration", arXiv:2510.02676, 2025):
//   alpha / (1 + 2^-alpha) <= H <= alpha / (1 - 2^-alpha)
// `alpha` > 0; a stable law has at most 2, so more counts as 2. That is the normal distribution, where
// the upper bound is 2.67 and, with a sign and one bit of mantissa, the paper's FP4.67.
// A yardstick and no guarantee: exponents floor(log2 |w|) of a normal distribution have 2.54 bits,
// within the bounds, but those of a Cauchy distribution (alpha 1) have 3.19, above its bound of 2.
EntropyBounds ExponentEntropyBounds(double alpha);

}  // namespace penstock::ops
