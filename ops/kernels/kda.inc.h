// Kimi delta attention, one position. Included inside an unnamed namespace.

// Lane l holds p[l * stride], zero from `count` on.
inline F8 LoadStrided(const float* p, size_t stride, size_t count) {
  float lanes[8] = {};
  for (size_t i = 0; i < count; ++i) lanes[i] = At(p, i * stride);
  return Load(lanes);
}

// Order: the oldest input first, as a product, then by FMA; the last tap takes the current input.
void ShortConvSilu(const float* taps, const float* history, const float* x, size_t channels,
                   size_t taps_per_channel, float* y) {
  const size_t last = taps_per_channel - 1;
  EachStep(channels, [=](size_t c, size_t count) {
    F8 sum = Zero();
    for (size_t j = 0; j <= last; ++j) {
      const F8 tap = LoadStrided(taps + c * taps_per_channel + j, taps_per_channel, count);
      const F8 input = LoadStep(j < last ? history + j * channels + c : x + c, count);
      sum = j == 0 ? Mul(tap, input) : Fma(tap, input, sum);
    }
    StoreStep(y + c, Mul(sum, Sigmoid(sum)), count);
  });
}

void KdaDecay(const float* z, const float* dt_bias, size_t n, float a, float lower_bound,
              float* alpha) {
  EachStep(n, [=](size_t i, size_t count) {
    const F8 shifted = Add(LoadStep(z + i, count), LoadStep(dt_bias + i, count));
    const F8 log_decay = lower_bound != 0.0f
                             ? Mul(Set1(lower_bound), Sigmoid(Mul(Set1(a), shifted)))
                             : Mul(Set1(-a), Softplus(shifted));
    StoreStep(alpha + i, Exp(log_decay), count);
  });
}

// B steps of eight value channels (columns), `count` lanes in each. Every column stands alone:
//   u from +0, key channels ascending: u = k_i * (S_i * alpha_i) + u  (a product, then an FMA)
//   delta = beta * (v - u)
//   key channels ascending: S'_i = k_i * delta + (S_i * alpha_i);  o = q_i * S'_i + o, from +0
template <int B>
inline void KdaColumns(const float* before, const float* q, const float* k, const float* v,
                       const float* alpha, float beta, size_t d, size_t count, float* after,
                       float* o) {
  F8 sums[B];
  F8 delta[B];
  PENSTOCK_UNROLL
  for (int b = 0; b < B; ++b) sums[b] = Zero();
  for (size_t i = 0; i < d; ++i) {
    const F8 decay = Set1(alpha[i]);
    const F8 key = Set1(k[i]);
    PENSTOCK_UNROLL
    for (int b = 0; b < B; ++b) {
      sums[b] = Fma(key, Mul(LoadStep(before + i * d + 8 * b, count), decay), sums[b]);
    }
  }
  PENSTOCK_UNROLL
  for (int b = 0; b < B; ++b) {
    delta[b] = Mul(Set1(beta), Sub(LoadStep(v + 8 * b, count), sums[b]));
    sums[b] = Zero();
  }
  for (size_t i = 0; i < d; ++i) {
    const F8 decay = Set1(alpha[i]);
    const F8 key = Set1(k[i]);
    const F8 query = Set1(q[i]);
    PENSTOCK_UNROLL
    for (int b = 0; b < B; ++b) {
      const F8 decayed = Mul(LoadStep(before + i * d + 8 * b, count), decay);
      const F8 state = Fma(key, delta[b], decayed);
      StoreStep(after + i * d + 8 * b, state, count);
      sums[b] = Fma(query, state, sums[b]);
    }
  }
  PENSTOCK_UNROLL
  for (int b = 0; b < B; ++b) StoreStep(o + 8 * b, sums[b], count);
}

void KdaStep(const float* before, const float* q, const float* k, const float* v,
             const float* alpha, float beta, size_t d, float* after, float* o) {
  size_t c = 0;
  for (; c + 64 <= d; c += 64) {
    KdaColumns<8>(before + c, q, k, v + c, alpha, beta, d, 8, after + c, o + c);
  }
  for (; c + 8 <= d; c += 8) {
    KdaColumns<1>(before + c, q, k, v + c, alpha, beta, d, 8, after + c, o + c);
  }
  if (c < d) KdaColumns<1>(before + c, q, k, v + c, alpha, beta, d, d - c, after + c, o + c);
}
