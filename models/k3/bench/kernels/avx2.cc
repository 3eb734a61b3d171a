#include "models/k3/bench/kernels/avx2.h"

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#endif

namespace penstock::k3 {

#if defined(__AVX2__) && defined(__FMA__)

namespace {

inline __m256 TwoScales(const uint8_t* scales, const float* powers) {
  return _mm256_set_m128(_mm_broadcast_ss(powers + scales[1]),
                         _mm_broadcast_ss(powers + scales[0]));
}

inline float Total(__m256 lanes) {
  __m128 sum = _mm_add_ps(_mm256_castps256_ps128(lanes), _mm256_extractf128_ps(lanes, 1));
  sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
  return _mm_cvtss_f32(_mm_add_ss(sum, _mm_shuffle_ps(sum, sum, 1)));
}

// Each 32-bit lane holds eight codes; the k-th selects a magnitude by a permutation of a table and
// takes its sign from the code's top bit. One FMA a vector, one for the scales of 64 weights.
float TableRow(const uint8_t* codes, const uint8_t* scales, size_t cols, const float* by_nibble,
               const float* powers) {
  const __m256 table = _mm256_setr_ps(0, 0.5f, 1, 1.5f, 2, 3, 4, 6);
  const __m256i sign = _mm256_set1_epi32(static_cast<int>(0x80000000u));
  __m256 total = _mm256_setzero_ps();
  for (size_t g = 0; g < cols / 32; g += 2) {
    const __m256i block = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes + 16 * g));
    __m256 sum = _mm256_setzero_ps();
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) {
      const __m256 magnitude = _mm256_permutevar8x32_ps(table, _mm256_srli_epi32(block, 4 * k));
      const __m256i signs = _mm256_and_si256(_mm256_slli_epi32(block, 28 - 4 * k), sign);
      const __m256 weight = _mm256_xor_ps(magnitude, _mm256_castsi256_ps(signs));
      sum = _mm256_fmadd_ps(weight, _mm256_loadu_ps(by_nibble + 32 * g + 8 * k), sum);
    }
    total = _mm256_fmadd_ps(sum, TwoScales(scales + g, powers), total);
  }
  return Total(total);
}

// Weights as the unsigned bytes 2w + 12, which VPMADDUBSW takes; the 12 is taken off afterwards.
float Int8Row(const uint8_t* codes, const uint8_t* scales, size_t cols, const int8_t* rounded,
              const int32_t* corrections, const float* steps, const float* powers) {
  const __m256i table = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0));
  const __m256i nibble = _mm256_set1_epi8(15);
  const __m256i ones = _mm256_set1_epi16(1);
  __m256 total = _mm256_setzero_ps();
  for (size_t g = 0; g < cols / 32; g += 2) {
    const auto load = [](const void* p) {
      return _mm256_loadu_si256(static_cast<const __m256i*>(p));
    };
    const __m256i block = load(codes + 16 * g);
    const __m256i low = _mm256_shuffle_epi8(table, _mm256_and_si256(block, nibble));
    const __m256i high =
        _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(block, 4), nibble));
    const __m256i pairs = _mm256_add_epi16(_mm256_maddubs_epi16(low, load(rounded + 32 * g)),
                                           _mm256_maddubs_epi16(high, load(rounded + 32 * g + 32)));
    const __m256i sum = _mm256_sub_epi32(_mm256_madd_epi16(pairs, ones), load(corrections + 4 * g));
    const __m256 scale =
        _mm256_mul_ps(TwoScales(scales + g, powers), _mm256_loadu_ps(steps + 4 * g));
    total = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), scale, total);
  }
  return Total(total);
}

constexpr Avx2Rows kRows = {TableRow, Int8Row};

}  // namespace

const Avx2Rows* BuiltAvx2Rows() { return &kRows; }

#else

const Avx2Rows* BuiltAvx2Rows() { return nullptr; }

#endif

}  // namespace penstock::k3
