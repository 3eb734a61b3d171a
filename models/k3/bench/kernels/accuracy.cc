#include "models/k3/bench/kernels/accuracy.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "runtime/check.h"

namespace penstock::k3 {
namespace {

constexpr size_t kRows = 64;
constexpr uint32_t kSeed = 20240229;

struct Drawn {
  explicit Drawn(size_t columns) : cols(columns), x(cols) {
    std::mt19937 engine(kSeed);
    for (size_t i = 0; i < kRows * cols / 2; ++i) packed.push_back(static_cast<uint8_t>(engine()));
    for (size_t i = 0; i < kRows * cols / 32; ++i) {
      scales.push_back(static_cast<uint8_t>(118 + engine() % 5));
    }
    std::normal_distribution<float> normal;
    for (float& value : x) value = normal(engine);
  }

  // By the definition of the format, in double.
  double LargestError(const std::vector<float>& y) const {
    constexpr double kValues[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    double worst = 0;
    for (size_t r = 0; r < kRows; ++r) {
      double sum = 0, magnitude = 0;
      for (size_t c = 0; c < cols; ++c) {
        const unsigned both = packed[(r * cols + c) / 2];
        const unsigned code = c % 2 == 0 ? both & 15u : both >> 4;
        const double value = std::ldexp(kValues[code & 7u], scales[(r * cols + c) / 32] - 127) *
                             static_cast<double>(x[c]);
        sum += (code & 8u) != 0 ? -value : value;
        magnitude += std::abs(value);
      }
      worst = std::max(worst, std::abs(static_cast<double>(y[r]) - sum) / magnitude);
    }
    return worst;
  }

  size_t cols;
  std::vector<uint8_t> packed, scales;
  std::vector<float> x;
};

}  // namespace

double Mxfp4Error(const ops::Kernels& kernels, size_t cols) {
  const Drawn drawn(cols);
  std::vector<float> scratch(ops::Mxfp4ScratchFloats(cols, 1)), y(kRows);
  kernels.mxfp4_prepare(drawn.x.data(), cols, cols, 1, scratch.data());
  kernels.matvec_mxfp4(drawn.packed.data(), drawn.scales.data(), kRows, cols, scratch.data(), 1,
                       y.data(), kRows);
  return drawn.LargestError(y);
}

double Mxfp4Error(Mxfp4Comparator product, size_t cols) {
  PENSTOCK_CHECK(product != nullptr);
  const Drawn drawn(cols);
  std::vector<float> y(kRows);
  product({drawn.packed.data(), drawn.scales.data(), kRows, cols}, ComparatorInput(drawn.x),
          y.data());
  return drawn.LargestError(y);
}

}  // namespace penstock::k3
