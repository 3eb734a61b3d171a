#include <bit>
#include <cmath>

#include "ops/reference/reference.h"
#include "runtime/check.h"

namespace penstock::ops::reference {

double Bf16Value(uint16_t bits) {
  return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits) << 16));
}

Vector WidenBf16(std::span<const uint16_t> w) {
  Vector y(w.size());
  for (size_t i = 0; i < w.size(); ++i) y[i] = Bf16Value(w[i]);
  return y;
}

Vector WidenF32(std::span<const float> w) { return Vector(w.begin(), w.end()); }

double Mxfp4Value(uint8_t code, uint8_t scale) {
  static constexpr double kMagnitude[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  const double magnitude = kMagnitude[code & 7];
  const double value = (code & 8) != 0 ? -magnitude : magnitude;
  return scale == 255 ? std::nan("") : std::ldexp(value, static_cast<int>(scale) - 127);
}

Vector DecodeMxfp4(std::span<const uint8_t> packed, std::span<const uint8_t> scales, size_t rows,
                   size_t cols) {
  PENSTOCK_CHECK(cols % 32 == 0);
  PENSTOCK_CHECK(packed.size() == rows * cols / 2 && scales.size() == rows * cols / 32);
  Vector w(rows * cols);
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < cols; ++c) {
      const uint8_t pair = packed[r * (cols / 2) + c / 2];
      const uint8_t code = c % 2 == 0 ? pair & 15 : pair >> 4;
      w[r * cols + c] = Mxfp4Value(code, scales[r * (cols / 32) + c / 32]);
    }
  }
  return w;
}

Vector MatVec(View w, size_t rows, size_t cols, View x) {
  PENSTOCK_CHECK(w.size() == rows * cols && x.size() == cols);
  Vector y(rows, 0.0);
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < cols; ++c) y[r] += w[r * cols + c] * x[c];
  }
  return y;
}

Vector MatVecTransposed(View w, size_t rows, size_t cols, View x) {
  PENSTOCK_CHECK(w.size() == rows * cols && x.size() == rows);
  Vector y(cols, 0.0);
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < cols; ++c) y[c] += w[r * cols + c] * x[r];
  }
  return y;
}

Vector MatVecBf16(std::span<const uint16_t> w, size_t rows, size_t cols, View x) {
  return MatVec(WidenBf16(w), rows, cols, x);
}

Vector MatVecBf16Transposed(std::span<const uint16_t> w, size_t rows, size_t cols, View x) {
  return MatVecTransposed(WidenBf16(w), rows, cols, x);
}

Vector MatVecMxfp4(std::span<const uint8_t> packed, std::span<const uint8_t> scales, size_t rows,
                   size_t cols, View x) {
  return MatVec(DecodeMxfp4(packed, scales, rows, cols), rows, cols, x);
}

}  // namespace penstock::ops::reference
