#include "ops/codec/huffman/format.h"
#include "ops/codec/huffman/tables.h"

#if defined(__AVX512BW__) && defined(__BMI2__) && defined(__LZCNT__)
#include <immintrin.h>
#endif

#define PENSTOCK_INLINE inline __attribute__((always_inline))

namespace penstock::ops::huffman {

const Kernels* BuiltAvx512();

#if defined(__AVX512BW__) && defined(__BMI2__) && defined(__LZCNT__)

namespace {

// clang-format off
#include "ops/codec/huffman/merge.inc.h"
#include "ops/codec/huffman/x86_bits.inc.h"
// clang-format on

// A group. The sign of a rest byte widened to 16 bits is already where it belongs.
PENSTOCK_INLINE __m512i MergeGroup(const uint8_t* symbols, const uint8_t* rest) {
  const __m512i exponent =
      _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(symbols)));
  const __m512i widened =
      _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(rest)));
  const __m512i kept = _mm512_set1_epi16(static_cast<int16_t>(0x807f));
  constexpr int kOrAnd = 0xf8;  // a | (b & c)
  return _mm512_ternarylogic_epi64(_mm512_slli_epi16(exponent, 7), widened, kept, kOrAnd);
}

template <bool kStream>
PENSTOCK_INLINE void MergeGroups(const uint8_t* symbols, const uint8_t* rest, size_t n,
                                 uint16_t* out) {
  for (size_t i = n; i != 0;) {
    i -= kGroup;
    Prefetch(rest + i, -kRestAhead);
    const __m512i merged = MergeGroup(symbols + i, rest + i);
    if constexpr (kStream) {
      _mm512_stream_si512(reinterpret_cast<__m512i*>(out + i), merged);
    } else {
      _mm512_storeu_si512(out + i, merged);
    }
  }
}

void Merge(const uint8_t* symbols, const uint8_t* rest, size_t n, uint16_t* out, bool streaming) {
  const size_t whole = n / kGroup * kGroup;
  for (size_t i = whole; i < n; ++i) out[i] = Element(symbols[i], rest[i]);
  if (streaming && reinterpret_cast<uintptr_t>(out) % 64 == 0) {
    MergeGroups<true>(symbols, rest, whole, out);
  } else {
    MergeGroups<false>(symbols, rest, whole, out);
  }
}

// clang-format off
#include "ops/codec/huffman/streams.inc.h"
// clang-format on

constexpr Kernels kKernels = {"avx512", DecodeSymbols, DecodeBf16};

}  // namespace

const Kernels* BuiltAvx512() { return &kKernels; }

#else

const Kernels* BuiltAvx512() { return nullptr; }

#endif

}  // namespace penstock::ops::huffman

#undef PENSTOCK_INLINE
