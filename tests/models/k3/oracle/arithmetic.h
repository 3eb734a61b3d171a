#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "tests/models/k3/oracle/tensors.h"

// The few functions every part of the reference model uses, as plain loops in double.
namespace penstock::k3::oracle {

using Vector = std::vector<double>;

inline double Dot(const double* a, const double* b, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

inline Vector Multiply(const Matrix& w, const Vector& x) {
  Vector y(w.rows);
  for (size_t r = 0; r < w.rows; ++r) y[r] = Dot(w.row(r), x.data(), w.cols);
  return y;
}

inline void AddTo(Vector& sum, const Vector& x) {
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += x[i];
}

inline double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
inline double Silu(double x) { return x * Sigmoid(x); }
inline double Softplus(double x) { return x > 30 ? x : std::log1p(std::exp(x)); }

inline double InverseRms(const double* x, size_t n, double eps) {
  return 1 / std::sqrt(Dot(x, x, n) / static_cast<double>(n) + eps);
}

inline Vector RmsNorm(const Vector& x, const Vector& gain, double eps) {
  const double scale = InverseRms(x.data(), x.size(), eps);
  Vector y(x.size());
  for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] * scale * gain[i];
  return y;
}

inline void Softmax(Vector& x) {
  double largest = x[0];
  for (const double value : x) largest = std::max(largest, value);
  double sum = 0;
  for (double& value : x) sum += value = std::exp(value - largest);
  for (double& value : x) value /= sum;
}

}  // namespace penstock::k3::oracle
