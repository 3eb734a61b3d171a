// exp, tanh, sigmoid and softplus, one polynomial body for every instruction set. The C library's
// are not used: it picks variants by CPU. Errors against the exact value, over all floats: exp 1
// ulp, sigmoid 2, tanh 2, softplus 2 (tests/ops/math_test.cc). NaN in, NaN out. Included inside
// an unnamed namespace.
//
// Coefficients: interpolation at Chebyshev nodes, rounded to f32.

// c[0] + x * (c[1] + x * (...)) by FMA from the last coefficient.
template <int N>
inline F8 Polynomial(F8 x, const float (&c)[N]) {
  F8 sum = Set1(c[N - 1]);
  for (int i = N - 2; i >= 0; --i) sum = Fma(sum, x, Set1(c[i]));
  return sum;
}

// x = n ln2 + r with |r| <= ln2 / 2; exp(x) = 2^n (1 + (r + r^2 q(r))). Beyond the clamps the
// result is 0 or infinity anyway; the second operand of Max and Min lets NaN through.
inline F8 Exp(F8 x) {
  constexpr float kQ[5] = {0.5f, 0.166665763f, 0.0416665524f, 0.00836323295f, 0.00139262504f};
  x = Min(Set1(89.0f), Max(Set1(-105.0f), x));
  const F8 shifted = Fma(x, Set1(1.44269502f), Set1(kRoundShift));
  const F8 n = Sub(shifted, Set1(kRoundShift));
  F8 r = Fma(n, Set1(-0.693147182f), x);
  r = Fma(n, Set1(1.90465421e-9f), r);
  const F8 tail = Fma(Mul(r, r), Polynomial(r, kQ), r);
  return ScaleByPow2(Add(Set1(1.0f), tail), shifted);
}

// With e = exp(-|x|) <= 1: 1 / (1 + e) for x >= 0 and e / (1 + e) below, so that both ends keep
// their relative accuracy.
inline F8 Sigmoid(F8 x) {
  const F8 e = Exp(Sub(Zero(), Abs(x)));
  return Div(SelectLess(x, Zero(), e, Set1(1.0f)), Add(Set1(1.0f), e));
}

// |x| < 0.625: x + x^3 p(x^2); beyond: 1 - 2 / (exp(2 |x|) + 1) with the sign of x.
inline F8 Tanh(F8 x) {
  constexpr float kP[6] = {-0.333333343f, 0.133333042f,    -0.0539592579f,
                           0.0217689183f, -0.00834394526f, 0.00229274458f};
  const F8 square = Mul(x, x);
  const F8 near_zero = Fma(Mul(x, square), Polynomial(square, kP), x);
  const F8 magnitude = Abs(x);
  const F8 e = Exp(Add(magnitude, magnitude));
  const F8 far = Sub(Set1(1.0f), Div(Set1(2.0f), Add(e, Set1(1.0f))));
  return SelectLess(magnitude, Set1(0.625f), near_zero, WithSign(far, x));
}

// log(1 + exp(x)) = max(x, 0) + log1p(e) with e = exp(-|x|); log1p(e) = 2 atanh(s), s = e / (2 +
// e).
inline F8 Softplus(F8 x) {
  constexpr float kP[4] = {0.666666389f, 0.400075614f, 0.282366186f, 0.268515021f};
  const F8 e = Exp(Sub(Zero(), Abs(x)));
  const F8 s = Div(e, Add(Set1(2.0f), e));
  const F8 square = Mul(s, s);
  const F8 logarithm = Fma(Mul(s, square), Polynomial(square, kP), Add(s, s));
  return Add(Max(Zero(), x), logarithm);
}
