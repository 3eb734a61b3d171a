// The lane operations of scalar_lanes.inc.h in AVX2 and FMA: the same names, the same bits.
// Included inside an unnamed namespace.

struct F8 {
  __m256 v;
};

inline __m256i AsInt(F8 a) { return _mm256_castps_si256(a.v); }
inline F8 AsFloat(__m256i a) { return {_mm256_castsi256_ps(a)}; }

inline F8 Set1(float a) { return {_mm256_set1_ps(a)}; }
inline F8 Load(const float* p) { return {_mm256_loadu_ps(p)}; }
inline void Store(float* p, F8 a) { _mm256_storeu_ps(p, a.v); }

inline F8 Add(F8 a, F8 b) { return {_mm256_add_ps(a.v, b.v)}; }
inline F8 Sub(F8 a, F8 b) { return {_mm256_sub_ps(a.v, b.v)}; }
inline F8 Mul(F8 a, F8 b) { return {_mm256_mul_ps(a.v, b.v)}; }
inline F8 Div(F8 a, F8 b) { return {_mm256_div_ps(a.v, b.v)}; }
inline F8 Fma(F8 a, F8 b, F8 c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
inline F8 Max(F8 a, F8 b) { return {_mm256_max_ps(a.v, b.v)}; }
inline F8 Min(F8 a, F8 b) { return {_mm256_min_ps(a.v, b.v)}; }

inline F8 Abs(F8 a) { return AsFloat(_mm256_and_si256(AsInt(a), _mm256_set1_epi32(0x7fffffff))); }

inline F8 WithSign(F8 a, F8 b) {
  const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
  return AsFloat(_mm256_or_si256(_mm256_and_si256(AsInt(a), magnitude),
                                 _mm256_andnot_si256(magnitude, AsInt(b))));
}

inline F8 SelectLess(F8 a, F8 b, F8 x, F8 y) {
  return {_mm256_blendv_ps(y.v, x.v, _mm256_cmp_ps(a.v, b.v, _CMP_LT_OQ))};
}

inline F8 ScaleByPow2(F8 p, F8 shifted) {
  const __m256i bias = _mm256_set1_epi32(127);
  const __m256i n = _mm256_sub_epi32(AsInt(shifted), AsInt(Set1(kRoundShift)));
  const __m256i half = _mm256_srai_epi32(n, 1);
  const __m256i rest = _mm256_sub_epi32(n, half);
  const F8 first = AsFloat(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23));
  const F8 second = AsFloat(_mm256_slli_epi32(_mm256_add_epi32(rest, bias), 23));
  return Mul(Mul(p, first), second);
}

inline float SquareRoot(float a) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(a))); }

inline float ReduceAdd(F8 a) {
  __m128 sum = _mm_add_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
  sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
  return _mm_cvtss_f32(_mm_add_ss(sum, _mm_shuffle_ps(sum, sum, 1)));
}

inline F8 WidenBf16(const uint16_t* p) {
  const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return AsFloat(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}

inline F8 WidenScales(const uint8_t* s) {
  const __m256i exponent =
      _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(s)));
  const __m256i normal =
      _mm256_max_epi32(_mm256_slli_epi32(exponent, 23), _mm256_set1_epi32(0x00400000));
  return AsFloat(_mm256_or_si256(normal, _mm256_cmpeq_epi32(exponent, _mm256_set1_epi32(255))));
}

inline F8 SpreadScales(const float* scales) {
  const __m256d pair = _mm256_broadcast_sd(reinterpret_cast<const double*>(scales));
  return {_mm256_permutevar_ps(_mm256_castpd_ps(pair), _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1))};
}

struct CodeBlock {
  __m256i bytes;
};

inline CodeBlock LoadCodes(const uint8_t* p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))};
}

// Sixteen bf16 values; in each 32-bit lane the weight of an even byte, then that of an odd one.
struct WeightPairs {
  __m256i words;
};

inline F8 EvenWeights(const WeightPairs& pairs) {
  return AsFloat(_mm256_slli_epi32(pairs.words, 16));
}

inline F8 OddWeights(const WeightPairs& pairs) {
  return AsFloat(_mm256_and_si256(pairs.words, _mm256_set1_epi32(static_cast<int>(0xffff0000u))));
}

// The code of each byte selects the two bytes of its bf16 value, which are then interleaved.
inline void DecodeCodes(const CodeBlock& block, int nibble, WeightPairs pairs[2]) {
  const __m256i high_bytes = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 0x3f, 0x3f, 0x3f, 0x40, 0x40, 0x40, 0x40, char(0x80), char(0xbf), char(0xbf),
                    char(0xbf), char(0xc0), char(0xc0), char(0xc0), char(0xc0)));
  const __m256i low_bytes = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 0, char(0x80), char(0xc0), 0, 0x40, char(0x80), char(0xc0), 0, 0, char(0x80),
                    char(0xc0), 0, 0x40, char(0x80), char(0xc0)));
  const __m256i codes = _mm256_and_si256(
      nibble == 0 ? block.bytes : _mm256_srli_epi16(block.bytes, 4), _mm256_set1_epi8(0x0f));
  const __m256i high = _mm256_shuffle_epi8(high_bytes, codes);
  const __m256i low = _mm256_shuffle_epi8(low_bytes, codes);
  pairs[0].words = _mm256_unpacklo_epi8(low, high);
  pairs[1].words = _mm256_unpackhi_epi8(low, high);
}

// A prefetch of an address that does not exist is ignored by the CPU; the sum is one of integers.
// Always inline: GCC 12 takes a function that only prefetches for one without effect and drops it.
PENSTOCK_INLINE void Prefetch(const void* p, size_t ahead) {
  const auto address = reinterpret_cast<uintptr_t>(p) + ahead;
  _mm_prefetch(reinterpret_cast<const char*>(address), _MM_HINT_T1);
}
