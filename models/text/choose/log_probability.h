#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "models/text/text_model.h"
#include "runtime/result.h"

namespace penstock::text {

// ln(softmax(logits)[id]), never above 0, in double from additions, multiplications and divisions
// in one order: the same on every machine. The error is below 1e-14 of 1 + |result|, and relative
// to the result itself where the probability is near 1. kUnsound when a logit is not finite, naming
// the first such id.
Result<double> LogProbability(std::span<const float> logits, TokenId id);

// ln(1 + x) for finite x >= 0, within 1e-15 relative, from the same operations.
double LogOnePlus(double x);

// Log-probabilities of a sequence, summed with compensation.
class Score {
 public:
  void Add(double log_probability);

  size_t ids() const { return ids_; }
  double log_probability() const { return sum_ + lost_; }  // Of all ids together, natural.
  // exp(-mean); nothing without an id; infinite where it leaves double.
  std::optional<double> perplexity() const;

 private:
  size_t ids_ = 0;
  double sum_ = 0;
  double lost_ = 0;  // What rounding took from sum_.
};

}  // namespace penstock::text
