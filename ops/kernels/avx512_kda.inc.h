// The delta-rule step in AVX-512: every column stands alone (kda.inc.h), so sixteen of them share a
// register. Included inside an unnamed namespace, after bodies.inc.h.

// Columns of one step, B registers wide. Eight registers take a whole row of a head of 128: its
// state is then read and written in the order of its addresses.
template <int B>
inline void KdaWideColumns(const float* before, const float* q, const float* k, const float* v,
                           const float* alpha, float beta, size_t d, float* after, float* o) {
  __m512 sums[B];
  __m512 delta[B];
  PENSTOCK_UNROLL
  for (int b = 0; b < B; ++b) sums[b] = _mm512_setzero_ps();
  for (size_t i = 0; i < d; ++i) {
    const __m512 decay = _mm512_set1_ps(alpha[i]);
    const __m512 key = _mm512_set1_ps(k[i]);
    PENSTOCK_UNROLL
    for (int b = 0; b < B; ++b) {
      const __m512 decayed = _mm512_mul_ps(_mm512_loadu_ps(before + i * d + 16 * b), decay);
      sums[b] = _mm512_fmadd_ps(key, decayed, sums[b]);
    }
  }
  PENSTOCK_UNROLL
  for (int b = 0; b < B; ++b) {
    delta[b] =
        _mm512_mul_ps(_mm512_set1_ps(beta), _mm512_sub_ps(_mm512_loadu_ps(v + 16 * b), sums[b]));
    sums[b] = _mm512_setzero_ps();
  }
  for (size_t i = 0; i < d; ++i) {
    const __m512 decay = _mm512_set1_ps(alpha[i]);
    const __m512 key = _mm512_set1_ps(k[i]);
    const __m512 query = _mm512_set1_ps(q[i]);
    PENSTOCK_UNROLL
    for (int b = 0; b < B; ++b) {
      const __m512 decayed = _mm512_mul_ps(_mm512_loadu_ps(before + i * d + 16 * b), decay);
      const __m512 state = _mm512_fmadd_ps(key, delta[b], decayed);
      _mm512_storeu_ps(after + i * d + 16 * b, state);
      sums[b] = _mm512_fmadd_ps(query, state, sums[b]);
    }
  }
  PENSTOCK_UNROLL
  for (int b = 0; b < B; ++b) _mm512_storeu_ps(o + 16 * b, sums[b]);
}

void KdaStepWide(const float* before, const float* q, const float* k, const float* v,
                 const float* alpha, float beta, size_t d, float* after, float* o) {
  size_t c = 0;
  for (; c + 128 <= d; c += 128) {
    KdaWideColumns<8>(before + c, q, k, v + c, alpha, beta, d, after + c, o + c);
  }
  for (; c + 16 <= d; c += 16) {
    KdaWideColumns<1>(before + c, q, k, v + c, alpha, beta, d, after + c, o + c);
  }
  for (; c + 8 <= d; c += 8) {
    KdaColumns<1>(before + c, q, k, v + c, alpha, beta, d, 8, after + c, o + c);
  }
  if (c < d) KdaColumns<1>(before + c, q, k, v + c, alpha, beta, d, d - c, after + c, o + c);
}
