#include <cmath>

#include "ops/reference/reference.h"
#include "runtime/check.h"

namespace penstock::ops::reference {

double Sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

double Silu(double x) { return x * Sigmoid(x); }

double Softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

Vector RmsNorm(View x, View weight, double eps) {
  PENSTOCK_CHECK(x.size() == weight.size());
  double squares = 0;
  for (double value : x) squares += value * value;
  const double root = std::sqrt(squares / static_cast<double>(x.size()) + eps);
  Vector y(x.size());
  for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] / root * weight[i];
  return y;
}

Vector L2Normalize(View x, double scale) {
  double squares = 0;
  for (double value : x) squares += value * value;
  const double root = std::sqrt(squares + 1e-6);
  Vector y(x.size());
  for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] / root * scale;
  return y;
}

Vector SituGlu(View gate, View up, double beta, double linear_beta) {
  PENSTOCK_CHECK(gate.size() == up.size());
  Vector y(gate.size());
  for (size_t i = 0; i < gate.size(); ++i) {
    const double capped_gate = beta * std::tanh(gate[i] / beta);
    const double capped_up =
        linear_beta == 0 ? up[i] : linear_beta * std::tanh(up[i] / linear_beta);
    y[i] = capped_gate * Sigmoid(gate[i]) * capped_up;
  }
  return y;
}

Vector SigmoidGate(View x, View gate) {
  PENSTOCK_CHECK(x.size() == gate.size());
  Vector y(x.size());
  for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] * Sigmoid(gate[i]);
  return y;
}

Vector GatedNorm(View o, View weight, View gate, double eps) {
  return SigmoidGate(RmsNorm(o, weight, eps), gate);
}

Vector ResidualMix(std::span<const Vector> sources, View factor, double eps) {
  PENSTOCK_CHECK(!sources.empty());
  Vector scores;
  double largest = -INFINITY;
  for (const Vector& source : sources) {
    PENSTOCK_CHECK(source.size() == factor.size());
    const Vector normed = RmsNorm(source, factor, eps);
    double score = 0;
    for (double value : normed) score += value;
    scores.push_back(score);
    largest = std::fmax(largest, score);
  }
  double total = 0;
  for (double& score : scores) total += score = std::exp(score - largest);
  Vector out(factor.size(), 0.0);
  for (size_t j = 0; j < sources.size(); ++j) {
    for (size_t i = 0; i < out.size(); ++i) out[i] += scores[j] / total * sources[j][i];
  }
  return out;
}

}  // namespace penstock::ops::reference
