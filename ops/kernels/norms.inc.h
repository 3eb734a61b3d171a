// Norms and the attention residual. Included inside an unnamed namespace.
//
// Order of the sums, part of the contract: eight lanes, lane l from +0 over elements l, l+8, ...
// by FMA, padded with zeros; then ((0+4)+(2+6)) + ((1+5)+(3+7)). A sum of squares that overflows
// makes the whole result NaN.

inline float SumOfSquares(const float* x, size_t n) {
  F8 sums = Zero();
  EachStep(n, [&](size_t i, size_t count) {
    const F8 value = LoadStep(x + i, count);
    sums = Fma(value, value, sums);
  });
  return ReduceAdd(sums);
}

inline float Dot(const float* a, const float* b, size_t n) {
  F8 sums = Zero();
  EachStep(n, [&](size_t i, size_t count) {
    sums = Fma(LoadStep(a + i, count), LoadStep(b + i, count), sums);
  });
  return ReduceAdd(sums);
}

// 1 / sqrt(mean(x^2) + eps)
inline float InverseRms(const float* x, size_t n, float eps) {
  return InverseRoot(SumOfSquares(x, n) / static_cast<float>(n) + eps);
}

// (x * inverse) * weight
void RmsNorm(const float* x, const float* weight, size_t n, float eps, float* y) {
  const F8 inverse = Set1(InverseRms(x, n, eps));
  EachStep(n, [=](size_t i, size_t count) {
    const F8 normed = Mul(LoadStep(x + i, count), inverse);
    StoreStep(y + i, Mul(normed, LoadStep(weight + i, count)), count);
  });
}

// (x * inverse) * scale
void L2Normalize(const float* x, size_t n, float scale, float* y) {
  const F8 inverse = Set1(InverseRoot(SumOfSquares(x, n) + 1e-6f));
  EachStep(n, [=](size_t i, size_t count) {
    StoreStep(y + i, Mul(Mul(LoadStep(x + i, count), inverse), Set1(scale)), count);
  });
}

// ((o * inverse) * weight) * sigmoid(gate): the norm first, then a plain sigmoid.
void GatedNorm(const float* o, const float* weight, const float* gate, size_t n, float eps,
               float* y) {
  const F8 inverse = Set1(InverseRms(o, n, eps));
  EachStep(n, [=](size_t i, size_t count) {
    const F8 normed = Mul(Mul(LoadStep(o + i, count), inverse), LoadStep(weight + i, count));
    StoreStep(y + i, Mul(normed, Sigmoid(LoadStep(gate + i, count))), count);
  });
}

inline float ExpOne(float x) {
  float lanes[8];
  Store(lanes, Exp(Set1(x)));
  return lanes[0];
}

// Scores as products with the folded factor, softmax in order of the sources, then per element
// p_0 s_0 as a product and the further sources by FMA in their order: the raw sources are mixed,
// not the normed ones. One source is copied exactly.
void ResidualMix(const float* const* sources, size_t count, const float* factor, size_t n,
                 float eps, float* out) {
  PENSTOCK_CHECK(count >= 1 && count <= kMaxResidualSources);
  float p[kMaxResidualSources];
  float largest = -__builtin_inff();
  for (size_t j = 0; j < count; ++j) {
    p[j] = Dot(sources[j], factor, n) * InverseRms(sources[j], n, eps);
    largest = p[j] > largest ? p[j] : largest;
  }
  float total = 0.0f;
  for (size_t j = 0; j < count; ++j) {
    p[j] = ExpOne(p[j] - largest);
    total += p[j];
  }
  for (size_t j = 0; j < count; ++j) p[j] /= total;
  EachStep(n, [&](size_t i, size_t step) {
    F8 sum = Mul(LoadStep(sources[0] + i, step), Set1(p[0]));
    for (size_t j = 1; j < count; ++j) sum = Fma(LoadStep(sources[j] + i, step), Set1(p[j]), sum);
    StoreStep(out + i, sum, step);
  });
}
