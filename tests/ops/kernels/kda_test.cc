#include <cmath>

#include "ops/kernels/kernels.h"
#include "ops/reference/reference.h"
#include "tests/ops/draw.h"

namespace penstock::ops {
namespace {

class NumericKda : public ::testing::TestWithParam<const Kernels*> {};
INSTANTIATE_TEST_SUITE_P(Isa, NumericKda, ::testing::ValuesIn(RunnableKernels()), KernelsName);

using reference::Vector;

TEST_P(NumericKda, ShortConvolutionAgreesWithTheReference) {
  Draw draw(1);
  SCOPED_TRACE(draw.Seed());
  for (int round = 0; round < 40; ++round) {
    const size_t channels = draw.Size(1, 200);
    const size_t taps = draw.Size(1, 5);
    const auto w = draw.Normals(channels * taps);
    const auto history = draw.Normals(channels * (taps - 1));
    const auto x = draw.Normals(channels);
    std::vector<float> y(channels);
    GetParam()->short_conv_silu(OddPlace<float>(w).data(), history.data(), x.data(), channels, taps,
                                y.data());
    Vector magnitude(channels);
    for (size_t c = 0; c < channels; ++c) {
      for (size_t j = 0; j < taps; ++j) {
        const float input = j + 1 < taps ? history[j * channels + c] : x[c];
        magnitude[c] += std::abs(static_cast<double>(w[c * taps + j] * input));
      }
    }
    // Silu multiplies an error of its argument by at most 1.1; 8 for its own roundings.
    EXPECT_TRUE(Within(y, reference::ShortConvSilu(Widen(w), Widen(history), Widen(x)), magnitude,
                       (1.1 * static_cast<double>(taps) + 8) * kUlp));
    std::vector<float> scalar(channels);
    ScalarKernels().short_conv_silu(w.data(), history.data(), x.data(), channels, taps,
                                    scalar.data());
    EXPECT_TRUE(SameBits(y, scalar));
  }
}

// The last tap takes the current input, the first the oldest one; silu acts behind the sum.
TEST_P(NumericKda, ConvolutionTapsFromOldestToNewest) {
  const std::vector<float> taps = {1, 10, 100, 1000};
  const std::vector<float> history = {0.001f, 0.002f, 0.003f};
  const float x = 0.004f;
  float y = 0;
  GetParam()->short_conv_silu(taps.data(), history.data(), &x, 1, 4, &y);
  const double sum = 0.001 + 0.02 + 0.3 + 4;
  EXPECT_NEAR(y, sum / (1 + std::exp(-sum)), 1e-5);
}

TEST_P(NumericKda, DecayAgreesWithTheReference) {
  Draw draw(2);
  SCOPED_TRACE(draw.Seed());
  for (int round = 0; round < 40; ++round) {
    const size_t n = draw.Size(1, 200);
    const auto z = draw.Normals(n, 4);
    const auto bias = draw.Normals(n);
    const float a = std::exp(draw.Normal());
    for (float bound : {-5.0f, 0.0f}) {
      std::vector<float> alpha(n);
      GetParam()->kda_decay(z.data(), OddPlace<float>(bias).data(), n, a, bound, alpha.data());
      const Vector want = reference::KdaDecay(Widen(z), Widen(bias), static_cast<double>(a),
                                              static_cast<double>(bound));
      for (size_t i = 0; i < n; ++i) {
        // The sum z + bias is rounded; its error, and those of the factors, reach the logarithm of
        // the decay, which exp turns into a relative error of alpha.
        const double magnitude =
            std::abs(static_cast<double>(z[i])) + std::abs(static_cast<double>(bias[i])) + 1;
        const double log_error =
            bound != 0.0f ? 5 * (0.25 * 2 * static_cast<double>(a) * magnitude + 6) * kUlp
                          : (8 * -std::log(std::max(want[i], 1e-300)) +
                             2 * static_cast<double>(a) * magnitude) *
                                kUlp;
        ASSERT_NEAR(alpha[i], want[i], want[i] * (log_error + 4 * kUlp) + 0x1p-149);
      }
      std::vector<float> scalar(n);
      ScalarKernels().kda_decay(z.data(), bias.data(), n, a, bound, scalar.data());
      EXPECT_TRUE(SameBits(alpha, scalar));
    }
  }
}

// The bound is the factor of a sigmoid, not a clamp of the softplus form; the bias is one value a
// channel and is added before the scaling by exp(A_log).
TEST_P(NumericKda, DecayIsABoundedSigmoid) {
  const std::vector<float> z = {1.0f, 1.0f, 50.0f, -50.0f};
  const std::vector<float> bias = {0.5f, -0.5f, 0, 0};
  std::vector<float> alpha(4);
  GetParam()->kda_decay(z.data(), bias.data(), 4, 2.0f, -5.0f, alpha.data());
  EXPECT_NEAR(alpha[0], std::exp(-5 / (1 + std::exp(-3.0))), 1e-8);
  EXPECT_NEAR(alpha[1], std::exp(-5 / (1 + std::exp(-1.0))), 1e-7);
  EXPECT_NEAR(alpha[2], std::exp(-5.0), 1e-8);
  EXPECT_EQ(alpha[3], 1.0f);
  GetParam()->kda_decay(z.data(), bias.data(), 4, 2.0f, 0.0f, alpha.data());
  EXPECT_NEAR(alpha[0], std::exp(-2 * std::log1p(std::exp(1.5))), 1e-7);
}

struct Head {
  size_t d;
  std::vector<float> state, q, k, v, alpha;
  float beta;
};

Head DrawHead(Draw& draw, size_t d) {
  Head head{d,
            draw.Normals(d * d),
            draw.Normals(d, 0.1f),
            draw.Normals(d, 1 / std::sqrt(static_cast<float>(d))),
            draw.Normals(d),
            {},
            0.7f};
  for (size_t i = 0; i < d; ++i) {
    head.alpha.push_back(std::exp(-static_cast<float>(draw.Size(0, 500)) / 100));
  }
  return head;
}

struct Stepped {
  std::vector<float> state, o;
};

Stepped Step(const Kernels& kernels, const Head& head) {
  Stepped out{std::vector<float>(head.d * head.d), std::vector<float>(head.d)};
  kernels.kda_step(head.state.data(), head.q.data(), head.k.data(), head.v.data(),
                   head.alpha.data(), head.beta, head.d, out.state.data(), out.o.data());
  return out;
}

TEST_P(NumericKda, StepAgreesWithTheReference) {
  Draw draw(3);
  SCOPED_TRACE(draw.Seed());
  for (size_t d : {1, 2, 7, 8, 9, 16, 20, 24, 32, 40, 44, 64, 128, 155}) {
    const Head head = DrawHead(draw, d);
    const Stepped got = Step(*GetParam(), head);
    Vector state = Widen(head.state);
    const Vector o = reference::KdaStep(state, Widen(head.q), Widen(head.k), Widen(head.v),
                                        Widen(head.alpha), static_cast<double>(head.beta));
    // Magnitudes of the terms of each column: |v| + sum |k S| bounds delta; the state adds itself.
    for (size_t j = 0; j < d; ++j) {
      double delta = std::abs(static_cast<double>(head.v[j]));
      for (size_t i = 0; i < d; ++i) {
        delta += std::abs(static_cast<double>(head.k[i] * head.alpha[i] * head.state[i * d + j]));
      }
      const double error = (static_cast<double>(d) + 4) * kUlp;
      double output = 0;
      for (size_t i = 0; i < d; ++i) {
        const double magnitude =
            std::abs(static_cast<double>(head.alpha[i] * head.state[i * d + j])) +
            std::abs(static_cast<double>(head.k[i] * head.beta)) * delta;
        ASSERT_NEAR(got.state[i * d + j], state[i * d + j], error * magnitude) << d;
        output += std::abs(static_cast<double>(head.q[i])) * magnitude;
      }
      ASSERT_NEAR(got.o[j], o[j], 2 * error * output) << d;
    }
    const Stepped scalar = Step(ScalarKernels(), head);
    EXPECT_TRUE(SameBits(got.state, scalar.state));
    EXPECT_TRUE(SameBits(got.o, scalar.o));
  }
}

TEST_P(NumericKda, StepInPlaceGivesTheSameBits) {
  Draw draw(4);
  SCOPED_TRACE(draw.Seed());
  for (size_t d : {3, 8, 44, 128}) {
    Head head = DrawHead(draw, d);
    const Stepped apart = Step(*GetParam(), head);
    std::vector<float> o(d);
    GetParam()->kda_step(head.state.data(), head.q.data(), head.k.data(), head.v.data(),
                         head.alpha.data(), head.beta, d, head.state.data(), o.data());
    EXPECT_TRUE(SameBits(head.state, apart.state));
    EXPECT_TRUE(SameBits(o, apart.o));
  }
}

// By hand, two key channels (rows) by two value channels (columns): alpha scales rows, before the
// update; u is taken from the decayed state; o from the updated one.
TEST_P(NumericKda, StepByHand) {
  const Head head{2, {1, 2, 3, 4}, {1, 10}, {2, 1}, {20, 30}, {0.5f, 0.25f}, 0.5f};
  const Stepped got = Step(*GetParam(), head);
  // decayed {.5, 1; .75, 1}; u = {1.75, 3}; delta = .5 * {18.25, 27} = {9.125, 13.5}
  EXPECT_EQ(got.state, (std::vector<float>{18.75f, 28, 9.875f, 14.5f}));
  EXPECT_EQ(got.o, (std::vector<float>{117.5f, 173}));
}

TEST_P(NumericKda, NonFiniteStateReachesItsColumnOnly) {
  Draw draw(5);
  SCOPED_TRACE(draw.Seed());
  Head head = DrawHead(draw, 11);
  head.state[4 * 11 + 10] = NAN;
  const Stepped got = Step(*GetParam(), head);
  for (size_t j = 0; j < 11; ++j) EXPECT_EQ(std::isnan(got.o[j]), j == 10);
}

}  // namespace
}  // namespace penstock::ops
