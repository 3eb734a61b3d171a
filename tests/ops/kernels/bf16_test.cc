#include <cmath>
#include <limits>

#include "ops/kernels/kernels.h"
#include "ops/reference/reference.h"
#include "tests/ops/draw.h"

namespace penstock::ops {
namespace {

class NumericBf16 : public ::testing::TestWithParam<const Kernels*> {};
INSTANTIATE_TEST_SUITE_P(Isa, NumericBf16, ::testing::ValuesIn(RunnableKernels()), KernelsName);

struct Bf16Matrix {
  size_t rows;
  size_t cols;
  std::vector<uint16_t> w;
};

Bf16Matrix DrawBf16(Draw& draw, size_t most_rows, size_t most_cols) {
  Bf16Matrix m{draw.Size(1, most_rows), draw.Size(1, most_cols), {}};
  m.w = draw.Bf16s(m.rows * m.cols);
  return m;
}

// Sum of |w x| by row: what rounding errors of a product are relative to.
std::vector<double> Bf16Magnitude(const Bf16Matrix& m, std::span<const float> x) {
  std::vector<double> w = reference::WidenBf16(m.w);
  std::vector<double> input = Widen(x);
  for (double& value : w) value = std::abs(value);
  for (double& value : input) value = std::abs(value);
  return reference::MatVec(w, m.rows, m.cols, input);
}

std::vector<float> Bf16Product(const Kernels& kernels, const Bf16Matrix& m,
                               std::span<const float> x) {
  const size_t positions = x.size() / m.cols;
  std::vector<float> y(positions * m.rows);
  kernels.matvec_bf16(m.w.data(), m.rows, m.cols, x.data(), m.cols, positions, y.data(), m.rows);
  return y;
}

// A sum of c products in eight lanes rounds each term at most c/8 + 4 times: the bound is certain.
double Bf16Bound(size_t cols) { return (static_cast<double>(cols) / 8 + 5) * kUlp; }

TEST_P(NumericBf16, AgreesWithTheReferenceOnRandomShapes) {
  Draw draw(1);
  SCOPED_TRACE(draw.Seed());
  for (int round = 0; round < 60; ++round) {
    const Bf16Matrix m = DrawBf16(draw, 40, 300);
    const auto x = draw.Normals(m.cols);
    SCOPED_TRACE(std::to_string(m.rows) + " x " + std::to_string(m.cols));
    EXPECT_TRUE(Within(Bf16Product(*GetParam(), m, x),
                       reference::MatVecBf16(m.w, m.rows, m.cols, Widen(x)), Bf16Magnitude(m, x),
                       Bf16Bound(m.cols)));
  }
}

TEST_P(NumericBf16, WidthsOfSmallModels) {
  Draw draw(2);
  SCOPED_TRACE(draw.Seed());
  for (size_t cols : {1, 2, 7, 8, 9, 15, 16, 17, 20, 44, 72, 7168}) {
    Bf16Matrix m{5, cols, draw.Bf16s(5 * cols)};
    const auto x = draw.Normals(cols);
    SCOPED_TRACE(cols);
    EXPECT_TRUE(Within(Bf16Product(*GetParam(), m, x),
                       reference::MatVecBf16(m.w, 5, cols, Widen(x)), Bf16Magnitude(m, x),
                       Bf16Bound(cols)));
  }
}

TEST_P(NumericBf16, BitsAreScalars) {
  Draw draw(3);
  SCOPED_TRACE(draw.Seed());
  for (int round = 0; round < 60; ++round) {
    const Bf16Matrix m = DrawBf16(draw, 40, 200);
    const auto x = draw.Normals(m.cols * draw.Size(1, 9));
    EXPECT_TRUE(SameBits(Bf16Product(*GetParam(), m, x), Bf16Product(ScalarKernels(), m, x)));
  }
}

TEST_P(NumericBf16, BitsDoNotDependOnTheNumberOfPositions) {
  Draw draw(4);
  SCOPED_TRACE(draw.Seed());
  for (size_t positions = 1; positions <= 9; ++positions) {
    const Bf16Matrix m = DrawBf16(draw, 30, 150);
    const auto x = draw.Normals(m.cols * positions);
    const auto together = Bf16Product(*GetParam(), m, x);
    for (size_t t = 0; t < positions; ++t) {
      const auto alone = Bf16Product(*GetParam(), m, std::span(x).subspan(t * m.cols, m.cols));
      EXPECT_TRUE(SameBits(alone, std::span(together).subspan(t * m.rows, m.rows)))
          << "position " << t << " of " << positions;
    }
  }
}

// Large enough that more than four positions take several bands of rows.
TEST_P(NumericBf16, BitsDoNotDependOnTheNumberOfPositionsInLargeMatrices) {
  Draw draw(10);
  SCOPED_TRACE(draw.Seed());
  Bf16Matrix m{83, 4000, {}};
  m.w = draw.Bf16s(m.rows * m.cols);
  const auto x = draw.Normals(m.cols * 6);
  const auto together = Bf16Product(*GetParam(), m, x);
  for (size_t t = 0; t < 6; ++t) {
    const auto alone = Bf16Product(*GetParam(), m, std::span(x).subspan(t * m.cols, m.cols));
    EXPECT_TRUE(SameBits(alone, std::span(together).subspan(t * m.rows, m.rows)));
  }
}

TEST_P(NumericBf16, BitsDoNotDependOnTheRowSplit) {
  Draw draw(5);
  SCOPED_TRACE(draw.Seed());
  for (size_t positions : {1, 2, 3, 4, 5, 8}) {
    const Bf16Matrix m = DrawBf16(draw, 40, 100);
    const auto x = draw.Normals(m.cols * positions);
    const auto whole = Bf16Product(*GetParam(), m, x);
    std::vector<float> parts(whole.size(), NAN);
    for (size_t first = 0; first < m.rows;) {
      const size_t count = draw.Size(1, m.rows - first);
      GetParam()->matvec_bf16(m.w.data() + first * m.cols, count, m.cols, x.data(), m.cols,
                              positions, parts.data() + first, m.rows);
      first += count;
    }
    EXPECT_TRUE(SameBits(parts, whole));
  }
}

TEST_P(NumericBf16, StridesLeaveTheGapsAlone) {
  Draw draw(6);
  SCOPED_TRACE(draw.Seed());
  const Bf16Matrix m = DrawBf16(draw, 20, 50);
  const size_t x_stride = m.cols + 3;
  const size_t y_stride = m.rows + 5;
  const auto x = draw.Normals(3 * x_stride);
  std::vector<float> y(3 * y_stride, 77.0f);
  GetParam()->matvec_bf16(m.w.data(), m.rows, m.cols, x.data(), x_stride, 3, y.data(), y_stride);
  for (size_t t = 0; t < 3; ++t) {
    const auto alone = Bf16Product(*GetParam(), m, std::span(x).subspan(t * x_stride, m.cols));
    EXPECT_TRUE(SameBits(alone, std::span(y).subspan(t * y_stride, m.rows)));
    for (size_t i = m.rows; i < y_stride; ++i) EXPECT_EQ(y[t * y_stride + i], 77.0f);
  }
}

TEST_P(NumericBf16, WeightsAtAnyEvenAddress) {
  Draw draw(7);
  SCOPED_TRACE(draw.Seed());
  for (int round = 0; round < 10; ++round) {
    const Bf16Matrix m = DrawBf16(draw, 20, 100);
    const auto x = draw.Normals(m.cols);
    const OddPlace<uint16_t> moved(m.w);
    std::vector<float> y(m.rows);
    GetParam()->matvec_bf16(moved.data(), m.rows, m.cols, x.data(), m.cols, 1, y.data(), m.rows);
    EXPECT_TRUE(SameBits(y, Bf16Product(*GetParam(), m, x)));
  }
}

TEST_P(NumericBf16, NonFiniteValuesReachTheirRowsOnly) {
  Draw draw(8);
  SCOPED_TRACE(draw.Seed());
  Bf16Matrix m{11, 29, draw.Bf16s(11 * 29)};
  m.w[3 * 29 + 28] = 0x7fc0;  // NaN in the tail of row 3
  m.w[7 * 29] = 0x7f80;       // infinity at the start of row 7
  const auto y = Bf16Product(*GetParam(), m, draw.Normals(29));
  for (size_t r = 0; r < 11; ++r) EXPECT_EQ(std::isfinite(y[r]), r != 3 && r != 7) << r;
}

TEST_P(NumericBf16, SubnormalWeightsCount) {
  Bf16Matrix m{1, 8, std::vector<uint16_t>(8, 0x0001)};  // 2^-133 each
  const auto y = Bf16Product(*GetParam(), m, std::vector<float>(8, 0x1p100f));
  EXPECT_EQ(y[0], 0x1p-30f);
}

TEST_P(NumericBf16, TransposedAgreesWithTheReference) {
  Draw draw(9);
  SCOPED_TRACE(draw.Seed());
  for (int round = 0; round < 40; ++round) {
    const Bf16Matrix m = DrawBf16(draw, 60, 200);
    const auto x = draw.Normals(m.rows);
    std::vector<float> y(m.cols);
    GetParam()->matvec_bf16_transposed(OddPlace<uint16_t>(m.w).data(), m.rows, m.cols, x.data(),
                                       y.data());
    std::vector<double> absolute = reference::WidenBf16(m.w);
    std::vector<double> input = Widen(x);
    const auto want = reference::MatVecTransposed(absolute, m.rows, m.cols, input);
    for (double& value : absolute) value = std::abs(value);
    for (double& value : input) value = std::abs(value);
    // Each column is one chain of `rows` roundings.
    EXPECT_TRUE(Within(y, want, reference::MatVecTransposed(absolute, m.rows, m.cols, input),
                       static_cast<double>(m.rows) * kUlp));
    std::vector<float> scalar(m.cols);
    ScalarKernels().matvec_bf16_transposed(m.w.data(), m.rows, m.cols, x.data(), scalar.data());
    EXPECT_TRUE(SameBits(y, scalar));
  }
}

TEST_P(NumericBf16, WideningIsExact) {
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  for (size_t drop : {0, 1, 5}) {  // Lengths that are no multiple of a vector.
    const std::span<const uint16_t> w = std::span(all).subspan(drop);
    std::vector<float> y(w.size());
    GetParam()->widen_bf16(w.data(), w.size(), y.data());
    for (size_t i = 0; i < w.size(); ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(y[i]) >> 16, w[i]);
      ASSERT_EQ(std::bit_cast<uint32_t>(y[i]) & 0xffffu, 0u);
    }
  }
}

}  // namespace
}  // namespace penstock::ops
