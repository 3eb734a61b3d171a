// Elementwise kernels: no sums but those named. Included inside an unnamed namespace.

void SituGlu(const float* gate, const float* up, size_t n, float beta, float linear_beta,
             float* y) {
  EachStep(n, [=](size_t i, size_t count) {
    const F8 g = LoadStep(gate + i, count);
    F8 u = LoadStep(up + i, count);
    if (linear_beta != 0.0f) {
      u = Mul(Set1(linear_beta), Tanh(Div(u, Set1(linear_beta))));
    }
    const F8 capped = Mul(Set1(beta), Tanh(Div(g, Set1(beta))));
    StoreStep(y + i, Mul(Mul(capped, Sigmoid(g)), u), count);
  });
}

void SigmoidGate(const float* x, const float* gate, size_t n, float* y) {
  EachStep(n, [=](size_t i, size_t count) {
    StoreStep(y + i, Mul(LoadStep(x + i, count), Sigmoid(LoadStep(gate + i, count))), count);
  });
}

void SigmoidArray(const float* x, size_t n, float* y) {
  EachStep(
      n, [=](size_t i, size_t count) { StoreStep(y + i, Sigmoid(LoadStep(x + i, count)), count); });
}

// The sum: eight lanes over i, i+8, ... ascending by addition from +0, then
// ((0+4)+(2+6)) + ((1+5)+(3+7)).
float ExpMinus(const float* x, float shift, size_t n, float* y) {
  F8 sums = Zero();
  EachStep(n, [&](size_t i, size_t count) {
    const F8 e = Exp(Sub(LoadStep(x + i, count), Set1(shift)));
    float padded[8] = {};
    StoreStep(padded, e, count);
    sums = Add(sums, Load(padded));
    StoreStep(y + i, e, count);
  });
  return ReduceAdd(sums);
}

void AddScaled(const float* x, float a, size_t n, float* y) {
  EachStep(n, [=](size_t i, size_t count) {
    StoreStep(y + i, Fma(Set1(a), LoadStep(x + i, count), LoadStep(y + i, count)), count);
  });
}

// x - x is zero for finite x and NaN else.
bool AllFinite(const float* x, size_t n) {
  F8 sums = Zero();
  EachStep(n, [&](size_t i, size_t count) {
    const F8 value = LoadStep(x + i, count);
    sums = Add(sums, Sub(value, value));
  });
  return ReduceAdd(sums) == 0.0f;
}
