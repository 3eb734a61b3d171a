#include "models/k3/bench/kernels/comparators.h"

#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace penstock::k3 {
namespace {

// One column at a time, x a unit vector: every code at every column, with scales that differ.
TEST(KernelComparators, EveryCodeAtEveryColumn) {
  constexpr size_t kCols = 128, kRows = 16;
  constexpr float kValues[16] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6, 0, -0.5f, -1, -1.5f, -2, -3, -4, -6};
  std::vector<uint8_t> packed(kRows * kCols / 2), scales(kRows * kCols / 32);
  for (size_t i = 0; i < kRows * kCols; ++i) {
    const size_t code = (i / kCols + i) % 16;
    packed[i / 2] |= static_cast<uint8_t>(i % 2 == 0 ? code : code << 4);
  }
  for (size_t i = 0; i < scales.size(); ++i) scales[i] = static_cast<uint8_t>(120 + i % 13);
  const Mxfp4Rows w{packed.data(), scales.data(), kRows, kCols};
  for (Mxfp4Comparator product : {&Mxfp4PlainDouble, Mxfp4TableLookup(), Mxfp4RoundedToInt8()}) {
    if (product == nullptr) continue;  // No AVX2.
    for (size_t c = 0; c < kCols; ++c) {
      std::vector<float> x(kCols), y(kRows);
      x[c] = 127;  // A step of one when it is rounded to 8 bits.
      product(w, ComparatorInput(x), y.data());
      for (size_t r = 0; r < kRows; ++r) {
        const int exponent = scales[(r * kCols + c) / 32] - 127;
        EXPECT_EQ(y[r], std::ldexp(127 * kValues[(r + r * kCols + c) % 16], exponent))
            << "row " << r << " column " << c;
      }
    }
  }
}

TEST(KernelComparators, EigenCastsWhatIsStored) {
  const std::vector<uint16_t> w = {0x3f80, 0x4000, 0xbf80, 0x3f00};  // 1 2 / -1 0.5
  const std::vector<float> x = {3, 5};
  std::vector<float> y(2);
  Bf16EigenCast(w.data(), 2, 2, x.data(), y.data());
  EXPECT_EQ(y, (std::vector<float>{13, -0.5f}));
}

}  // namespace
}  // namespace penstock::k3
