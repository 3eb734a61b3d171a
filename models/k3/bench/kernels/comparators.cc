#include "models/k3/bench/kernels/comparators.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/k3/bench/kernels/avx2.h"
#include "ops/eigen.h"
#include "runtime/check.h"
#include "runtime/cpu/instructions.h"

namespace penstock::k3 {
namespace {

constexpr size_t kBlock = 64;

const Avx2Rows* Avx2OrNull() { return CpuHasAvx2() ? BuiltAvx2Rows() : nullptr; }

void TableLookup(const Mxfp4Rows& w, const ComparatorInput& x, float* y) {
  const auto row = Avx2OrNull()->table;
  for (size_t r = 0; r < w.rows; ++r) {
    y[r] = row(w.packed + r * (w.cols / 2), w.scales + r * (w.cols / 32), w.cols,
               x.by_nibble.data(), x.powers.data());
  }
}

void RoundedToInt8(const Mxfp4Rows& w, const ComparatorInput& x, float* y) {
  const auto row = Avx2OrNull()->int8;
  for (size_t r = 0; r < w.rows; ++r) {
    y[r] = row(w.packed + r * (w.cols / 2), w.scales + r * (w.cols / 32), w.cols, x.rounded.data(),
               x.corrections.data(), x.steps.data(), x.powers.data());
  }
}

}  // namespace

ComparatorInput::ComparatorInput(std::span<const float> values)
    : x(values.begin(), values.end()),
      by_nibble(values.size()),
      rounded(values.size()),
      corrections(values.size() / 8),
      steps(values.size() / 8),
      powers(256) {
  PENSTOCK_CHECK(values.size() % kBlock == 0);
  for (int s = 0; s < 255; ++s) powers[static_cast<size_t>(s)] = std::ldexp(1.0f, s - 127);
  powers[255] = std::numeric_limits<float>::quiet_NaN();
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t block = i / kBlock * kBlock;
    by_nibble[block + i % 8 * 8 + i % kBlock / 8] = x[i];
  }
  for (size_t group = 0; group < x.size(); group += 32) {
    float largest = 0;
    for (size_t i = group; i < group + 32; ++i) largest = std::max(largest, std::abs(x[i]));
    const float step = largest / 127;
    const size_t block = group / kBlock * kBlock;
    for (size_t i = 0; i < 32; ++i) {
      const auto value = static_cast<int8_t>(step == 0 ? 0 : std::lround(x[group + i] / step));
      rounded[block + i % 2 * 32 + group % kBlock / 2 + i / 2] = value;
      corrections[group / 8 + i / 8] += 12 * value;
      steps[group / 8 + i / 8] = step / 2;
    }
  }
}

void Mxfp4PlainDouble(const Mxfp4Rows& w, const ComparatorInput& x, float* y) {
  constexpr double kValues[16] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0., -0.5, -1, -1.5, -2, -3, -4, -6};
  const size_t groups = w.cols / 32;
  for (size_t r = 0; r < w.rows; ++r) {
    double sum = 0;
    for (size_t g = 0; g < groups; ++g) {
      double group = 0;
      for (size_t b = 0; b < 16; ++b) {
        const uint8_t codes = w.packed[r * (w.cols / 2) + 16 * g + b];
        group += kValues[codes & 15] * static_cast<double>(x.x[32 * g + 2 * b]);
        group += kValues[codes >> 4] * static_cast<double>(x.x[32 * g + 2 * b + 1]);
      }
      sum += group * static_cast<double>(x.powers[w.scales[r * groups + g]]);
    }
    y[r] = static_cast<float>(sum);
  }
}

Mxfp4Comparator Mxfp4TableLookup() { return Avx2OrNull() != nullptr ? TableLookup : nullptr; }
Mxfp4Comparator Mxfp4RoundedToInt8() { return Avx2OrNull() != nullptr ? RoundedToInt8 : nullptr; }

void Bf16EigenCast(const uint16_t* w, size_t rows, size_t cols, const float* x, float* y) {
  using Stored = Eigen::Matrix<Eigen::bfloat16, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto height = static_cast<Eigen::Index>(rows);
  const auto width = static_cast<Eigen::Index>(cols);
  const Eigen::Map<const Stored> matrix(reinterpret_cast<const Eigen::bfloat16*>(w), height, width);
  Eigen::Map<Eigen::VectorXf>(y, height).noalias() =
      matrix.cast<float>() * Eigen::Map<const Eigen::VectorXf>(x, width);
}

}  // namespace penstock::k3
