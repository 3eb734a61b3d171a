// Included into an unnamed namespace by avx2.cc: what 256 symbols at a time become, bytes or
// elements.

#define PENSTOCK_INLINE inline __attribute__((always_inline))

// How far ahead the rest is asked for. A second request, further ahead into the second cache, loses
// a tenth here.
constexpr size_t kRestAhead = 4096;

// 256 symbols as bytes, eight vectors of 32, in each of which the lanes of eight are 0 2 1 3: so
// that unpacking inside 128 bits gives neighbours.
struct Group {
  __m256i symbols[8];
};

constexpr int kLanes = 0xd8;  // 0 2 1 3, its own reverse.

// What comes out: the symbols.
struct Bytes {
  static constexpr bool kRotated = false;
  uint8_t* out;

  PENSTOCK_INLINE void Put(const Group& group, size_t at) const {
#pragma GCC unroll 8
    for (unsigned i = 0; i < 8; ++i) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + at + 32 * i),
                          _mm256_permute4x64_epi64(group.symbols[i], kLanes));
    }
  }
  void PutPart(const Group& group, size_t at, size_t n) const {
    alignas(32) uint8_t scratch[256];
    Bytes{scratch}.Put(group, 0);
    __builtin_memcpy(out + at, scratch, n);
  }
  void Prefetch(size_t) const {}
};

// Or elements. Symbols arrive rotated right by one bit: then each byte of an element is a choice
// between the symbol's bits and the rest's.
template <bool kStream>
struct Elements {
  static constexpr bool kRotated = true;
  const uint8_t* rest;
  uint8_t* out;

  PENSTOCK_INLINE void Put(const Group& group, size_t at) const {
    const __m256i low7 = _mm256_set1_epi8(0x7f);
#pragma GCC unroll 8
    for (unsigned i = 0; i < 8; ++i) {
      const auto* const from = reinterpret_cast<const __m256i*>(rest + at + 32 * i);
      const __m256i rest_bytes = _mm256_permute4x64_epi64(_mm256_loadu_si256(from), kLanes);
      const __m256i symbols = group.symbols[i];
      const __m256i swap = _mm256_and_si256(_mm256_xor_si256(symbols, rest_bytes), low7);
      const __m256i low = _mm256_xor_si256(symbols, swap);
      const __m256i high = _mm256_xor_si256(rest_bytes, swap);
      auto* const to = reinterpret_cast<__m256i*>(out + 2 * at + 64 * i);
      Store(to, _mm256_unpacklo_epi8(low, high));
      Store(to + 1, _mm256_unpackhi_epi8(low, high));
    }
  }
  void PutPart(const Group& group, size_t at, size_t n) const {
    alignas(32) uint8_t rest_bytes[256];
    alignas(32) uint8_t scratch[512];
    __builtin_memcpy(rest_bytes, rest + at, n);
    Elements<false>{rest_bytes, scratch}.Put(group, 0);
    __builtin_memcpy(out + 2 * at, scratch, 2 * n);
  }
  void Prefetch(size_t at) const {
#pragma GCC unroll 4
    for (size_t i = 0; i < 256; i += 64) {
      _mm_prefetch(reinterpret_cast<const char*>(rest + at + kRestAhead + i), _MM_HINT_T0);
    }
  }

 private:
  static void Store(__m256i* to, __m256i elements) {
    if constexpr (kStream) {
      _mm256_stream_si256(to, elements);
    } else {
      _mm256_storeu_si256(to, elements);
    }
  }
};
