#include "ops/codec/huffman/format.h"
#include "ops/codec/huffman/tables.h"

#if defined(__AVX2__) && defined(__BMI2__) && defined(__LZCNT__)
#include <immintrin.h>
#endif

#define PENSTOCK_INLINE inline __attribute__((always_inline))

namespace penstock::ops::huffman {

const Kernels* BuiltAvx2();

#if defined(__AVX2__) && defined(__BMI2__) && defined(__LZCNT__)

namespace {

// clang-format off
#include "ops/codec/huffman/merge.inc.h"
#include "ops/codec/huffman/x86_bits.inc.h"
// clang-format on

// Sixteen elements. The sign of a rest byte widened to 16 bits is already where it belongs.
PENSTOCK_INLINE __m256i Merge16(const uint8_t* symbols, const uint8_t* rest) {
  const __m256i exponent =
      _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(symbols)));
  const __m256i widened =
      _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(rest)));
  return _mm256_or_si256(
      _mm256_slli_epi16(exponent, 7),
      _mm256_and_si256(widened, _mm256_set1_epi16(static_cast<int16_t>(0x807f))));
}

template <bool kStream>
PENSTOCK_INLINE void MergeGroups(const uint8_t* symbols, const uint8_t* rest, size_t n,
                                 uint16_t* out) {
  for (size_t i = n; i != 0;) {
    i -= kGroup;
    Prefetch(rest + i, -kRestAhead);
    auto* const to = reinterpret_cast<__m256i*>(out + i);
    const __m256i low = Merge16(symbols + i, rest + i);
    const __m256i high = Merge16(symbols + i + 16, rest + i + 16);
    if constexpr (kStream) {
      _mm256_stream_si256(to, low);
      _mm256_stream_si256(to + 1, high);
    } else {
      _mm256_storeu_si256(to, low);
      _mm256_storeu_si256(to + 1, high);
    }
  }
}

void Merge(const uint8_t* symbols, const uint8_t* rest, size_t n, uint16_t* out, bool streaming) {
  const size_t whole = n / kGroup * kGroup;
  for (size_t i = whole; i < n; ++i) out[i] = Element(symbols[i], rest[i]);
  if (streaming && reinterpret_cast<uintptr_t>(out) % 32 == 0) {
    MergeGroups<true>(symbols, rest, whole, out);
  } else {
    MergeGroups<false>(symbols, rest, whole, out);
  }
}

// clang-format off
#include "ops/codec/huffman/streams.inc.h"
// clang-format on

constexpr Kernels kKernels = {"avx2", DecodeSymbols, DecodeBf16};

}  // namespace

const Kernels* BuiltAvx2() { return &kKernels; }

#else

const Kernels* BuiltAvx2() { return nullptr; }

#endif

}  // namespace penstock::ops::huffman

#undef PENSTOCK_INLINE
