#include <bit>
#include <cmath>
#include <limits>

#include "ops/kernels/kernels.h"
#include "ops/reference/reference.h"
#include "tests/ops/draw.h"

// exp, sigmoid, tanh and softplus through the kernels that show each of them alone: exp_minus with
// shift 0, sigmoid, situ_glu and kda_decay.
namespace penstock::ops {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class NumericMath : public ::testing::TestWithParam<const Kernels*> {};
INSTANTIATE_TEST_SUITE_P(Isa, NumericMath, ::testing::ValuesIn(RunnableKernels()), KernelsName);

// Floats of either sign whose magnitudes are spread evenly over the representable ones from `low`
// to `high`.
std::vector<float> Spread(float low, float high, size_t n) {
  std::vector<float> values;
  const auto first = static_cast<double>(std::bit_cast<uint32_t>(low));
  const auto last = static_cast<double>(std::bit_cast<uint32_t>(high));
  for (size_t i = 0; i < n; ++i) {
    const double place = first + (last - first) * static_cast<double>(i) / static_cast<double>(n);
    const float value = std::bit_cast<float>(static_cast<uint32_t>(place));
    values.push_back(value);
    values.push_back(-value);
  }
  return values;
}

// Error in units in the last place of the exact value, subnormals included.
double UlpError(float got, double want) {
  const double unit = std::max(std::ldexp(1.0, std::ilogb(want) - 23), 0x1p-149);
  return std::abs(static_cast<double>(got) - want) / unit;
}

double WorstUlp(std::span<const float> x, std::span<const float> y, double (*exact)(double)) {
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double want = exact(static_cast<double>(x[i]));
    if (want == 0.0) {
      EXPECT_EQ(y[i], 0.0f);
    } else {
      worst = std::max(worst, UlpError(y[i], want));
    }
  }
  return worst;
}

TEST_P(NumericMath, ExpIsWithinOneUlp) {
  const auto x = Spread(0x1p-149f, 87.0f, 200000);
  std::vector<float> y(x.size());
  GetParam()->exp_minus(x.data(), 0.0f, x.size(), y.data());
  EXPECT_LE(WorstUlp(x, y, [](double v) { return std::exp(v); }), 1.0);
}

TEST_P(NumericMath, ExpReachesTheSubnormalsAndBothEnds) {
  const std::vector<float> x = {-kInf, -1e30f, -110, -104, -103.5f, -95, 88.7f, 88.8f, 1e30f, kInf};
  std::vector<float> y(x.size());
  GetParam()->exp_minus(x.data(), 0.0f, x.size(), y.data());
  for (size_t i : {0, 1, 2, 3}) EXPECT_EQ(y[i], 0.0f);
  EXPECT_EQ(y[4], 0x1p-149f);
  EXPECT_LE(UlpError(y[5], std::exp(-95.0)), 1.0);
  EXPECT_LE(UlpError(y[6], std::exp(static_cast<double>(x[6]))), 1.0);
  for (size_t i : {7, 8, 9}) EXPECT_EQ(y[i], kInf);
}

TEST_P(NumericMath, ExpSumsItsValues) {
  Draw draw(1);
  SCOPED_TRACE(draw.Seed());
  for (size_t n : {1, 7, 8, 13, 64}) {
    const auto x = draw.Normals(n);
    std::vector<float> y(n);
    const float sum = GetParam()->exp_minus(x.data(), 0.5f, n, y.data());
    double want = 0;
    for (float value : y) want += static_cast<double>(value);
    EXPECT_NEAR(sum, want, want * 12 * kUlp);
    for (size_t i = 0; i < n; ++i) {
      EXPECT_LE(UlpError(y[i], std::exp(static_cast<double>(x[i] - 0.5f))), 1.0);
    }
  }
}

TEST_P(NumericMath, SigmoidIsWithinTwoUlp) {
  const auto x = Spread(0x1p-149f, 100.0f, 200000);
  std::vector<float> y(x.size());
  GetParam()->sigmoid(x.data(), x.size(), y.data());
  EXPECT_LE(WorstUlp(x, y, reference::Sigmoid), 2.5);
}

TEST_P(NumericMath, SigmoidAtTheEnds) {
  const std::vector<float> x = {-kInf, -200, 0, 200, kInf};
  std::vector<float> y(x.size());
  GetParam()->sigmoid(x.data(), x.size(), y.data());
  EXPECT_TRUE(SameBits(y, std::vector<float>{0, 0, 0.5f, 1, 1}));
}

// kda_decay with bound 0 is exp(-a * softplus); tiny a makes it 1 - a * softplus, so softplus is
// read off through the older form with a = 1: alpha = 1 / (1 + e^z) exactly.
TEST_P(NumericMath, SoftplusThroughTheOlderDecay) {
  const auto z = Spread(0x1p-60f, 80.0f, 50000);
  const std::vector<float> bias(z.size(), 0.0f);
  std::vector<float> alpha(z.size());
  GetParam()->kda_decay(z.data(), bias.data(), z.size(), 1.0f, 0.0f, alpha.data());
  for (size_t i = 0; i < z.size(); ++i) {
    const double softplus = reference::Softplus(static_cast<double>(z[i]));
    const double want = std::exp(-softplus);
    // exp turns the relative error of its argument into an absolute one of that size.
    ASSERT_NEAR(alpha[i], want, want * (2 * kUlp + 5 * kUlp * softplus)) << z[i];
  }
}

// With gate = +large, sig is 1 and beta*tanh(gate/beta) is beta: what is left is the tanh of up.
TEST_P(NumericMath, TanhIsWithinTwoUlp) {
  const auto up = Spread(0x1p-149f, 12.0f, 200000);
  const std::vector<float> gate(up.size(), 1000.0f);
  std::vector<float> y(up.size());
  GetParam()->situ_glu(gate.data(), up.data(), up.size(), 1.0f, 1.0f, y.data());
  EXPECT_LE(WorstUlp(up, y, [](double v) { return std::tanh(v); }), 2.5);
}

TEST_P(NumericMath, TanhAtTheEnds) {
  const std::vector<float> up = {-kInf, -1e30f, -50, 50, 1e30f, kInf};
  const std::vector<float> gate(up.size(), 1000.0f);
  std::vector<float> y(up.size());
  GetParam()->situ_glu(gate.data(), up.data(), up.size(), 1.0f, 1.0f, y.data());
  EXPECT_TRUE(SameBits(y, std::vector<float>{-1, -1, -1, 1, 1, 1}));
}

TEST_P(NumericMath, NanStaysNan) {
  const std::vector<float> x(11, kNan);
  const std::vector<float> ones(11, 1.0f);
  std::vector<float> y(11);
  const auto all_nan = [&] {
    bool all = true;
    for (float& value : y) {
      all = all && std::isnan(value);
      value = 0;
    }
    return all;
  };
  EXPECT_TRUE(std::isnan(GetParam()->exp_minus(x.data(), 0, 11, y.data())));
  EXPECT_TRUE(all_nan());
  GetParam()->sigmoid(x.data(), 11, y.data());
  EXPECT_TRUE(all_nan());
  GetParam()->situ_glu(x.data(), ones.data(), 11, 4, 25, y.data());
  EXPECT_TRUE(all_nan());
  GetParam()->situ_glu(ones.data(), x.data(), 11, 4, 25, y.data());
  EXPECT_TRUE(all_nan());
  GetParam()->kda_decay(x.data(), ones.data(), 11, 1, -5, y.data());
  EXPECT_TRUE(all_nan());
  GetParam()->kda_decay(x.data(), ones.data(), 11, 1, 0, y.data());
  EXPECT_TRUE(all_nan());
}

}  // namespace
}  // namespace penstock::ops
