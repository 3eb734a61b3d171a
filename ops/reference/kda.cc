#include <cmath>

#include "ops/reference/reference.h"
#include "runtime/check.h"

namespace penstock::ops::reference {

Vector ShortConvSilu(View taps, View history, View x) {
  const size_t channels = x.size();
  PENSTOCK_CHECK(channels > 0 && taps.size() % channels == 0);
  const size_t width = taps.size() / channels;
  PENSTOCK_CHECK(width >= 1 && history.size() == (width - 1) * channels);
  Vector y(channels);
  for (size_t c = 0; c < channels; ++c) {
    double sum = 0;
    for (size_t j = 0; j + 1 < width; ++j) sum += taps[c * width + j] * history[j * channels + c];
    sum += taps[c * width + width - 1] * x[c];
    y[c] = Silu(sum);
  }
  return y;
}

Vector KdaDecay(View z, View dt_bias, double a, double lower_bound) {
  PENSTOCK_CHECK(z.size() == dt_bias.size());
  Vector alpha(z.size());
  for (size_t i = 0; i < z.size(); ++i) {
    const double shifted = z[i] + dt_bias[i];
    const double log_decay =
        lower_bound != 0 ? lower_bound * Sigmoid(a * shifted) : -a * Softplus(shifted);
    alpha[i] = std::exp(log_decay);
  }
  return alpha;
}

Vector KdaStep(std::span<double> state, View q, View k, View v, View alpha, double beta) {
  const size_t d = q.size();
  PENSTOCK_CHECK(state.size() == d * d && k.size() == d && v.size() == d && alpha.size() == d);
  for (size_t i = 0; i < d; ++i) {
    for (size_t j = 0; j < d; ++j) state[i * d + j] *= alpha[i];
  }
  Vector recalled(d, 0.0);
  for (size_t i = 0; i < d; ++i) {
    for (size_t j = 0; j < d; ++j) recalled[j] += k[i] * state[i * d + j];
  }
  Vector o(d, 0.0);
  for (size_t i = 0; i < d; ++i) {
    for (size_t j = 0; j < d; ++j) {
      state[i * d + j] += k[i] * beta * (v[j] - recalled[j]);
      o[j] += q[i] * state[i * d + j];
    }
  }
  return o;
}

}  // namespace penstock::ops::reference
