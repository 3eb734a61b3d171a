#include <cmath>

#include "ops/kernels/kernels.h"
#include "ops/reference/reference.h"
#include "tests/ops/draw.h"

namespace penstock::ops {
namespace {

class NumericGates : public ::testing::TestWithParam<const Kernels*> {};
INSTANTIATE_TEST_SUITE_P(Isa, NumericGates, ::testing::ValuesIn(RunnableKernels()), KernelsName);

// Two tanh and a sigmoid at 2.5 ulp (5 roundings) each, two quotients whose rounding the tanh
// passes on, four products.
constexpr double kSituBound = 24 * kUlp;

TEST_P(NumericGates, SituGluAgreesWithTheReference) {
  Draw draw(1);
  SCOPED_TRACE(draw.Seed());
  for (float sigma : {0.01f, 1.0f, 20.0f}) {
    for (float linear_beta : {25.0f, 0.0f, 1.5f}) {
      const size_t n = draw.Size(1, 400);
      const auto gate = draw.Normals(n, sigma);
      const auto up = draw.Normals(n, 3 * sigma);
      std::vector<float> y(n);
      GetParam()->situ_glu(gate.data(), up.data(), n, 4.0f, linear_beta, y.data());
      EXPECT_TRUE(Within(
          y, reference::SituGlu(Widen(gate), Widen(up), 4.0, static_cast<double>(linear_beta)),
          kSituBound));
      std::vector<float> in_place = up;
      ScalarKernels().situ_glu(gate.data(), in_place.data(), n, 4.0f, linear_beta, in_place.data());
      EXPECT_TRUE(SameBits(y, in_place));
    }
  }
}

// The caps show with large values only, and the sigmoid takes the raw gate, not the capped one.
TEST_P(NumericGates, SituCapsAndRawSigmoid) {
  const std::vector<float> gate = {1000, -30, -3};
  const std::vector<float> up = {1000, 1000, 1};
  std::vector<float> y(3);
  GetParam()->situ_glu(gate.data(), up.data(), 3, 4.0f, 25.0f, y.data());
  EXPECT_EQ(y[0], 100.0f);
  EXPECT_NEAR(y[1] / (-100.0 * std::exp(-30.0)), 1.0, 1e-5);  // Capped first: sig(-4) = 0.018.
  EXPECT_NEAR(y[2], 4 * std::tanh(-0.75) / (1 + std::exp(3.0)) * 25 * std::tanh(0.04), 1e-6);
}

TEST_P(NumericGates, SigmoidGateAgreesWithTheReference) {
  Draw draw(2);
  SCOPED_TRACE(draw.Seed());
  for (size_t n : {1, 5, 8, 20, 333}) {
    const auto x = draw.Normals(n);
    const auto gate = draw.Normals(n, 8);
    std::vector<float> y(n);
    GetParam()->sigmoid_gate(x.data(), gate.data(), n, y.data());
    EXPECT_TRUE(Within(y, reference::SigmoidGate(Widen(x), Widen(gate)), 6 * kUlp));
    std::vector<float> in_place = x;
    ScalarKernels().sigmoid_gate(in_place.data(), gate.data(), n, in_place.data());
    EXPECT_TRUE(SameBits(y, in_place));
  }
}

TEST_P(NumericGates, AddScaledRoundsOnce) {
  Draw draw(3);
  SCOPED_TRACE(draw.Seed());
  for (size_t n : {1, 7, 16, 45}) {
    const auto x = draw.Normals(n);
    const auto start = draw.Normals(n);
    const float a = draw.Normal();
    std::vector<float> y = start;
    GetParam()->add_scaled(x.data(), a, n, y.data());
    for (size_t i = 0; i < n; ++i) EXPECT_EQ(y[i], std::fma(a, x[i], start[i]));
  }
}

TEST_P(NumericGates, NothingIsWrittenBehindTheEnd) {
  for (size_t n : {1, 3, 8, 11}) {
    const std::vector<float> x(n, 1.0f);
    std::vector<float> y(n + 8, 9.0f);
    const auto untouched = [&] {
      for (size_t i = n; i < y.size(); ++i) {
        if (y[i] != 9.0f) return false;
      }
      return true;
    };
    GetParam()->sigmoid(x.data(), n, y.data());
    EXPECT_TRUE(untouched());
    GetParam()->exp_minus(x.data(), 0.0f, n, y.data());
    EXPECT_TRUE(untouched());
    GetParam()->situ_glu(x.data(), x.data(), n, 4, 25, y.data());
    EXPECT_TRUE(untouched());
    GetParam()->rms_norm(x.data(), x.data(), n, 1e-5f, y.data());
    EXPECT_TRUE(untouched());
  }
}

}  // namespace
}  // namespace penstock::ops
