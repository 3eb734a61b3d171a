#include <cmath>

#include "ops/kernels/kernels.h"
#include "ops/reference/reference.h"
#include "tests/ops/draw.h"

namespace penstock::ops {
namespace {

class NumericNorms : public ::testing::TestWithParam<const Kernels*> {};
INSTANTIATE_TEST_SUITE_P(Isa, NumericNorms, ::testing::ValuesIn(RunnableKernels()), KernelsName);

using reference::Vector;

std::vector<size_t> Widths(Draw& draw) {
  std::vector<size_t> widths = {1, 2, 7, 8, 9, 20, 44, 72, 128, 7168};
  for (int i = 0; i < 20; ++i) widths.push_back(draw.Size(1, 500));
  return widths;
}

// The sum of n squares in eight lanes: all terms positive, so relative to the sum itself; the root
// halves it, and a handful of further roundings follow.
double NormBound(size_t n) { return (static_cast<double>(n) / 16 + 10) * kUlp; }

TEST_P(NumericNorms, RmsNormAgreesWithTheReference) {
  Draw draw(1);
  SCOPED_TRACE(draw.Seed());
  for (size_t n : Widths(draw)) {
    const auto x = draw.Normals(n);
    const auto weight = draw.Normals(n);
    std::vector<float> y(n);
    std::vector<float> scalar(n);
    for (float eps : {1e-5f, 1e-6f}) {
      GetParam()->rms_norm(x.data(), weight.data(), n, eps, y.data());
      EXPECT_TRUE(Within(y, reference::RmsNorm(Widen(x), Widen(weight), static_cast<double>(eps)),
                         NormBound(n)));
      ScalarKernels().rms_norm(x.data(), weight.data(), n, eps, scalar.data());
      EXPECT_TRUE(SameBits(y, scalar));
    }
  }
}

// The two latent norms of MLA use 1e-6, all others 1e-5: next to invisible unless x is small, so
// here x is, and the two must come out apart by the factor that the definition gives.
TEST_P(NumericNorms, EpsilonActsWhereValuesAreSmall) {
  const std::vector<float> x(16, 1e-3f);  // mean square 1e-6
  const std::vector<float> weight(16, 1.0f);
  std::vector<float> y(16);
  GetParam()->rms_norm(x.data(), weight.data(), 16, 1e-6f, y.data());
  EXPECT_NEAR(y[0], std::sqrt(0.5), 1e-6);
  GetParam()->rms_norm(x.data(), weight.data(), 16, 1e-5f, y.data());
  EXPECT_NEAR(y[0], std::sqrt(1.0 / 11), 1e-6);
}

TEST_P(NumericNorms, RmsNormOfZerosIsZero) {
  const std::vector<float> x(11, 0.0f);
  const std::vector<float> weight(11, 2.0f);
  std::vector<float> y(11, 5.0f);
  GetParam()->rms_norm(x.data(), weight.data(), 11, 1e-5f, y.data());
  EXPECT_EQ(y, x);
}

TEST_P(NumericNorms, L2NormalizeAgreesWithTheReference) {
  Draw draw(2);
  SCOPED_TRACE(draw.Seed());
  for (size_t n : Widths(draw)) {
    const auto x = draw.Normals(n, n % 2 == 0 ? 1.0f : 1e-4f);  // Small ones show the epsilon.
    const float scale = 1.0f / std::sqrt(static_cast<float>(n));
    std::vector<float> y(n);
    GetParam()->l2_normalize(x.data(), n, scale, y.data());
    EXPECT_TRUE(
        Within(y, reference::L2Normalize(Widen(x), static_cast<double>(scale)), NormBound(n)));
    std::vector<float> in_place = x;
    ScalarKernels().l2_normalize(in_place.data(), n, scale, in_place.data());
    EXPECT_TRUE(SameBits(y, in_place));
  }
}

// The sum of squares, not their mean; and the scale of the query, which cancels in the norm behind
// the recurrence and is therefore seen only here.
TEST_P(NumericNorms, L2NormalizeByTheSumAndScaled) {
  const std::vector<float> x = {3, 4};
  std::vector<float> y(2);
  GetParam()->l2_normalize(x.data(), 2, 1.0f, y.data());
  EXPECT_NEAR(y[0], 0.6, 1e-7);
  EXPECT_NEAR(y[1], 0.8, 1e-7);
  GetParam()->l2_normalize(x.data(), 2, 0.25f, y.data());
  EXPECT_NEAR(y[1], 0.2, 1e-7);
}

TEST_P(NumericNorms, GatedNormAgreesWithTheReference) {
  Draw draw(3);
  SCOPED_TRACE(draw.Seed());
  for (size_t n : Widths(draw)) {
    const auto o = draw.Normals(n);
    const auto weight = draw.Normals(n);
    const auto gate = draw.Normals(n, 3);
    std::vector<float> y(n);
    GetParam()->gated_norm(o.data(), weight.data(), gate.data(), n, 1e-5f, y.data());
    EXPECT_TRUE(Within(
        y, reference::GatedNorm(Widen(o), Widen(weight), Widen(gate), static_cast<double>(1e-5f)),
        NormBound(n) + 6 * kUlp));
    std::vector<float> in_place = o;
    ScalarKernels().gated_norm(in_place.data(), weight.data(), gate.data(), n, 1e-5f,
                               in_place.data());
    EXPECT_TRUE(SameBits(y, in_place));
  }
}

// Squares that overflow would give zeros, which look sound; they must give NaN.
TEST_P(NumericNorms, OverflowingSquaresAreNotSilent) {
  std::vector<float> x(9, 1.0f);
  x[4] = 1e30f;
  const std::vector<float> ones(9, 1.0f);
  std::vector<float> y(9);
  GetParam()->rms_norm(x.data(), ones.data(), 9, 1e-5f, y.data());
  EXPECT_FALSE(GetParam()->all_finite(y.data(), 9));
  GetParam()->l2_normalize(x.data(), 9, 1.0f, y.data());
  EXPECT_FALSE(GetParam()->all_finite(y.data(), 9));
  GetParam()->gated_norm(x.data(), ones.data(), ones.data(), 9, 1e-5f, y.data());
  EXPECT_FALSE(GetParam()->all_finite(y.data(), 9));
}

TEST_P(NumericNorms, NonFiniteInputIsNotLost) {
  for (float bad : {INFINITY, -INFINITY, NAN}) {
    std::vector<float> x(13, 1.0f);
    x[12] = bad;
    const std::vector<float> ones(13, 1.0f);
    std::vector<float> y(13);
    GetParam()->rms_norm(x.data(), ones.data(), 13, 1e-5f, y.data());
    EXPECT_TRUE(std::isnan(y[0]));
    GetParam()->l2_normalize(x.data(), 13, 1.0f, y.data());
    EXPECT_TRUE(std::isnan(y[0]));
  }
}

struct Mix {
  std::vector<std::vector<float>> sources;
  std::vector<float> factor;
};

std::vector<float> Mixed(const Kernels& kernels, const Mix& mix) {
  std::vector<const float*> pointers;
  for (const auto& source : mix.sources) pointers.push_back(source.data());
  std::vector<float> out(mix.factor.size());
  kernels.residual_mix(pointers.data(), pointers.size(), mix.factor.data(), mix.factor.size(),
                       1e-5f, out.data());
  return out;
}

TEST_P(NumericNorms, ResidualMixAgreesWithTheReference) {
  Draw draw(4);
  SCOPED_TRACE(draw.Seed());
  for (int round = 0; round < 40; ++round) {
    const size_t n = draw.Size(1, 300);
    Mix mix{{}, draw.Normals(n, 0.3f)};
    std::vector<Vector> wide;
    Vector magnitude(n, 0.0);
    for (size_t j = 0, count = draw.Size(1, 12); j < count; ++j) {
      mix.sources.push_back(draw.Normals(n, 2));
      wide.push_back(Widen(mix.sources.back()));
      for (size_t i = 0; i < n; ++i) magnitude[i] += std::abs(wide.back()[i]);
    }
    // An error of a score moves its weight by as much, relatively. Scores are sums of n terms whose
    // magnitudes add to at most sqrt(n) * |factor|.
    double factor = 0;
    for (float value : mix.factor)
      factor += static_cast<double>(value) * static_cast<double>(value);
    const double score_error =
        std::sqrt(static_cast<double>(n) * factor) * (static_cast<double>(n) / 8 + 12) * kUlp;
    EXPECT_TRUE(Within(Mixed(*GetParam(), mix),
                       reference::ResidualMix(wide, Widen(mix.factor), static_cast<double>(1e-5f)),
                       magnitude, 2 * score_error + 20 * kUlp));
    EXPECT_TRUE(SameBits(Mixed(*GetParam(), mix), Mixed(ScalarKernels(), mix)));
  }
}

TEST_P(NumericNorms, OneSourceIsMixedExactly) {
  Draw draw(5);
  SCOPED_TRACE(draw.Seed());
  Mix mix{{draw.Normals(37)}, draw.Normals(37)};
  mix.sources[0][3] = -0.0f;
  EXPECT_TRUE(SameBits(Mixed(*GetParam(), mix), mix.sources[0]));
}

// Two sources of equal direction and different length have equal scores: the mean of the raw
// values comes out, not of the normed ones.
TEST_P(NumericNorms, RawSourcesAreMixed) {
  const Mix mix{{{1, 1, 1}, {5, 5, 5}}, {0.5f, 0.25f, 0.25f}};
  EXPECT_NEAR(Mixed(*GetParam(), mix)[1], 3.0, 1e-4);
}

TEST_P(NumericNorms, LargeScoresDoNotOverflow) {
  const Mix mix{{{1, 1}, {-1, -1}}, {200, 200}};
  const auto y = Mixed(*GetParam(), mix);
  EXPECT_EQ(y[0], 1.0f);
  EXPECT_EQ(y[1], 1.0f);
}

TEST_P(NumericNorms, AllFiniteSeesEveryPlace) {
  for (size_t n : {1, 7, 8, 9, 24, 25}) {
    std::vector<float> x(n, 3e38f);
    EXPECT_TRUE(GetParam()->all_finite(x.data(), n));
    for (size_t i = 0; i < n; ++i) {
      for (float bad : {INFINITY, -INFINITY, NAN}) {
        x[i] = bad;
        EXPECT_FALSE(GetParam()->all_finite(x.data(), n)) << i << " of " << n;
      }
      x[i] = -3e38f;
    }
  }
}

}  // namespace
}  // namespace penstock::ops
