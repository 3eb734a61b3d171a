#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/k3/census/entropy/entropy.h"

namespace penstock::k3 {

// Adds figures of tensors of one form up to those of all of them.
class FiguresSum {
 public:
  // Of one tensor. One that was not read has `sampled` 0 and counts by its size alone; `weight` is
  // EntropyTensor::weight.
  void Add(const EntropyFigures& figures, double weight);
  EntropyFigures Figures() const;

 private:
  // A mean over the tensors that have a value.
  struct Mean {
    double sum = 0;
    double weight = 0;
    void Add(const std::optional<double>& value, double by) {
      if (!value) return;
      sum += *value * by;
      weight += by;
    }
    std::optional<double> Value() const {
      return weight > 0 ? std::optional(sum / weight) : std::nullopt;
    }
  };

  void AddTail(const ops::TailIndex& tail, double by);
  std::optional<ops::TailIndex> Tail() const;

  EntropyFigures counted_;  // Its counts only.
  Mean exponent_, rest_, code_;
  std::array<Mean, kCensusCodecs.size()> coded_;
  Mean gamma_;                  // 1 / alpha.
  double gamma_variance_ = 0;   // Times the square of the weights.
  std::vector<double> shares_;  // Times the weights.
  double shares_weight_ = 0;
};

}  // namespace penstock::k3
