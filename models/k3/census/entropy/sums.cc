#include "models/k3/census/entropy/sums.h"

#include <cmath>

namespace penstock::k3 {

void FiguresSum::AddTail(const ops::TailIndex& tail, double by) {
  const double gamma = 1 / tail.alpha;
  gamma_.Add(gamma, by);
  gamma_variance_ += by * by * gamma * gamma / static_cast<double>(tail.used);
  if (!counted_.tail) counted_.tail.emplace();
  counted_.tail->used += tail.used;
}

void FiguresSum::Add(const EntropyFigures& figures, double weight) {
  counted_.form = figures.form;
  counted_.tensors += figures.tensors;
  counted_.elements += figures.elements;
  counted_.bytes += figures.bytes;
  counted_.sampled_tensors += figures.sampled_tensors;
  counted_.sampled += figures.sampled;
  counted_.zeros += figures.zeros;
  counted_.nonfinite += figures.nonfinite;
  if (figures.sampled == 0) return;
  const double by = weight * static_cast<double>(figures.elements);
  exponent_.Add(figures.exponent_bits, by);
  rest_.Add(figures.rest_bits, by);
  code_.Add(figures.code_bits, by);
  for (size_t i = 0; i < coded_.size(); ++i) coded_[i].Add(figures.coded_bits[i], by);
  if (figures.tail) AddTail(*figures.tail, by);
  if (figures.exponents.empty()) return;
  shares_.resize(figures.exponents.size());
  for (size_t i = 0; i < shares_.size(); ++i) shares_[i] += by * figures.exponents[i];
  shares_weight_ += by;
}

std::optional<ops::TailIndex> FiguresSum::Tail() const {
  const auto gamma = gamma_.Value();
  if (!gamma) return std::nullopt;
  const double relative = std::sqrt(gamma_variance_) / gamma_.weight / *gamma;
  return ops::TailIndex{1 / *gamma, relative / *gamma, counted_.tail->used};
}

EntropyFigures FiguresSum::Figures() const {
  EntropyFigures out = counted_;
  out.exponent_bits = exponent_.Value();
  out.rest_bits = rest_.Value();
  out.code_bits = code_.Value();
  for (size_t i = 0; i < coded_.size(); ++i) out.coded_bits[i] = coded_[i].Value();
  out.tail = Tail();
  out.exponents = shares_;
  for (double& share : out.exponents) share /= shares_weight_;
  return out;
}

}  // namespace penstock::k3
