#include "ops/codec/chain/chain.h"
#include "ops/codec/chain/format.h"

#if defined(__AVX512VBMI2__) && defined(__AVX512VBMI__) && defined(__AVX512BW__)
#include <immintrin.h>
#endif

// A word of a level is a mask register, and what it codes a vector of 64 bytes: the level's symbols
// by masked moves, the escapes by expanding the bytes of the level behind it, which were decoded
// before. Escapes never become anything but bytes, so no dictionary look-up follows.
namespace penstock::ops::chain {

const Kernels* BuiltAvx512();

#if defined(__AVX512VBMI2__) && defined(__AVX512VBMI__) && defined(__AVX512BW__)

namespace {

size_t CountEscapes(const uint8_t* level, bool wide, size_t words) {
  const size_t all = wide ? 2 * words : words;
  __m512i total = _mm512_setzero_si512();
  for (size_t i = 0; i < all; i += 8) {
    const __mmask8 valid = all - i >= 8 ? 255 : static_cast<__mmask8>((1u << (all - i)) - 1);
    const __m512i codes = _mm512_maskz_loadu_epi64(valid, level + 8 * i);
    // The planes of a wide level alternate; their conjunction is counted twice.
    const __m512i other = wide ? _mm512_shuffle_epi32(codes, _MM_PERM_BADC) : codes;
    total = _mm512_add_epi64(total, _mm512_popcnt_epi64(_mm512_and_si512(codes, other)));
  }
  const auto sum = static_cast<size_t>(_mm512_reduce_add_epi64(total));
  return wide ? sum / 2 : sum;
}

// clang-format off
#include "ops/codec/chain/block.inc.h"
// clang-format on

// How far ahead the rest is asked for: into the second cache early, into the first one late. With
// one request into the first cache, 1 to 16 KiB ahead, a reused tile is decoded at 1.17 of memcpy's
// rate instead of 1.47; without any, at 1.02.
constexpr size_t kFarAhead = 8192;
constexpr size_t kNearAhead = 1024;

// The decoded bytes of a level, and 64 more that the next one may read.
struct Sequence {
  alignas(64) uint8_t bytes[kMostBlock + 64];
};

// Bytes in the order of the first level's bits to the order of their symbols: 8 k + t to 8 t + k.
alignas(64) constexpr uint8_t kBySymbol[64] = {
    0,  8,  16, 24, 32, 40, 48, 56, 1,  9,  17, 25, 33, 41, 49, 57, 2,  10, 18, 26, 34, 42,
    50, 58, 3,  11, 19, 27, 35, 43, 51, 59, 4,  12, 20, 28, 36, 44, 52, 60, 5,  13, 21, 29,
    37, 45, 53, 61, 6,  14, 22, 30, 38, 46, 54, 62, 7,  15, 23, 31, 39, 47, 55, 63};
// The same, and lanes of 8 bytes placed so that unpacking two such vectors, which works inside 128
// bits, gives the first 32 symbols and the last 32: lanes 0 4 1 5 2 6 3 7.
alignas(64) constexpr uint8_t kForUnpacking[64] = {
    0,  8,  16, 24, 32, 40, 48, 56, 4,  12, 20, 28, 36, 44, 52, 60, 1,  9,  17, 25, 33, 41,
    49, 57, 5,  13, 21, 29, 37, 45, 53, 61, 2,  10, 18, 26, 34, 42, 50, 58, 6,  14, 22, 30,
    38, 46, 54, 62, 3,  11, 19, 27, 35, 43, 51, 59, 7,  15, 23, 31, 39, 47, 55, 63};

// The bytes of one word of a level, whose escapes are the first bytes of `next`.
template <bool kWide>
inline __m512i DecodeWord(uint64_t x, uint64_t y, const __m512i* symbols, __m512i next) {
  const uint64_t escapes = kWide ? x & y : x;
  __m512i bytes = symbols[0];
  if constexpr (kWide) {
    bytes = _mm512_mask_mov_epi8(bytes, _cvtu64_mask64(x), symbols[1]);
    bytes = _mm512_mask_mov_epi8(bytes, _cvtu64_mask64(y), symbols[2]);
  }
  return _mm512_mask_expand_epi8(bytes, _cvtu64_mask64(escapes), next);
}

// The same where `next` points at the escapes that are not used yet.
template <bool kWide>
inline __m512i DecodeWord(uint64_t x, uint64_t y, const __m512i* symbols, const uint8_t*& next) {
  const __m512i bytes = DecodeWord<kWide>(x, y, symbols, _mm512_loadu_si512(next));
  next += _mm_popcnt_u64(kWide ? x & y : x);
  return bytes;
}

inline __m512i Broadcast(uint8_t symbol) { return _mm512_set1_epi8(static_cast<char>(symbol)); }

template <bool kWide>
void DecodeLevel(const uint8_t* planes, size_t n, const __m512i* symbols, const uint8_t* escapes,
                 uint8_t* out) {
  constexpr size_t kStep = kWide ? 16 : 8;
  for (size_t w = 0; w < n / 64; ++w, planes += kStep, out += 64) {
    const uint64_t x = LoadWord(planes);
    const uint64_t y = kWide ? LoadWord(planes + 8) : 0;
    _mm512_store_si512(out, DecodeWord<kWide>(x, y, symbols, escapes));
  }
  if (n % 64 == 0) return;
  const uint64_t codes = (uint64_t{1} << n % 64) - 1;
  const uint64_t x = LoadWord(planes) & codes;
  const uint64_t y = kWide ? LoadWord(planes + (n % 64 + 7) / 8) & codes : 0;
  _mm512_store_si512(out, DecodeWord<kWide>(x, y, symbols, escapes));
}

// All 64 where n is more.
inline __mmask64 FirstBytes(size_t n) {
  return _cvtu64_mask64(_bzhi_u64(~uint64_t{0}, n < 64 ? static_cast<unsigned>(n) : 64));
}

// What comes out of the first level.
struct Bytes {
  static constexpr bool kRotated = false;
  uint8_t* out;

  // 64 symbols in the order of bits, from the `at`-th.
  void Put(__m512i coded, size_t at) const { PutPlain(InOrder(coded), at); }
  void PutPart(__m512i coded, size_t at, size_t n) const { PutPlainPart(InOrder(coded), at, n); }
  // In order.
  void PutPlain(__m512i symbols, size_t at) const { _mm512_storeu_si512(out + at, symbols); }
  void PutPlainPart(__m512i symbols, size_t at, size_t n) const {
    _mm512_mask_storeu_epi8(out + at, FirstBytes(n), symbols);
  }
  void Prefetch(size_t) const {}

 private:
  static __m512i InOrder(__m512i coded) {
    return _mm512_permutexvar_epi8(_mm512_load_si512(kBySymbol), coded);
  }
};

// Symbols arrive rotated right by one bit: then each byte of an element is a choice between the
// symbol's bits and the rest's.
template <bool kStream>
struct Elements {
  static constexpr bool kRotated = true;
  const uint8_t* rest;
  uint8_t* out;

  void Put(__m512i coded, size_t at) const {
    Merge(_mm512_permutexvar_epi8(_mm512_load_si512(kForUnpacking), coded),
          _mm512_loadu_si512(rest + at), at);
  }
  void PutPart(__m512i coded, size_t at, size_t n) const {
    MergePart(_mm512_permutexvar_epi8(_mm512_load_si512(kForUnpacking), coded), at, n);
  }
  void PutPlain(__m512i symbols, size_t at) const {
    Merge(ForUnpacking(symbols), _mm512_loadu_si512(rest + at), at);
  }
  void PutPlainPart(__m512i symbols, size_t at, size_t n) const {
    MergePart(ForUnpacking(symbols), at, n);
  }
  void Prefetch(size_t at) const {
    _mm_prefetch(reinterpret_cast<const char*>(rest + at + kFarAhead), _MM_HINT_T1);
    _mm_prefetch(reinterpret_cast<const char*>(rest + at + kNearAhead), _MM_HINT_T0);
  }

 private:
  static __m512i ForUnpacking(__m512i bytes) {
    return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7), bytes);
  }
  static void Interleave(__m512i symbols, __m512i rest_bytes, __m512i& first, __m512i& last) {
    const __m512i low7 = _mm512_set1_epi8(0x7f);
    rest_bytes = ForUnpacking(rest_bytes);
    // low7 ? b : c and low7 ? c : b.
    const __m512i low = _mm512_ternarylogic_epi64(low7, rest_bytes, symbols, 0xca);
    const __m512i high = _mm512_ternarylogic_epi64(low7, symbols, rest_bytes, 0xca);
    first = _mm512_unpacklo_epi8(low, high);
    last = _mm512_unpackhi_epi8(low, high);
  }
  void Merge(__m512i symbols, __m512i rest_bytes, size_t at) const {
    __m512i first;
    __m512i last;
    Interleave(symbols, rest_bytes, first, last);
    if constexpr (kStream) {
      _mm512_stream_si512(reinterpret_cast<__m512i*>(out + 2 * at), first);
      _mm512_stream_si512(reinterpret_cast<__m512i*>(out + 2 * at + 64), last);
    } else {
      _mm512_storeu_si512(out + 2 * at, first);
      _mm512_storeu_si512(out + 2 * at + 64, last);
    }
  }
  void MergePart(__m512i symbols, size_t at, size_t n) const {
    __m512i first;
    __m512i last;
    Interleave(symbols, _mm512_maskz_loadu_epi8(FirstBytes(n), rest + at), first, last);
    _mm512_mask_storeu_epi8(out + 2 * at, FirstBytes(2 * n), first);
    _mm512_mask_storeu_epi8(out + 2 * at + 64, FirstBytes(n < 32 ? 0 : 2 * n - 64), last);
  }
};

template <bool kWide, typename Out>
bool DecodeFirstLevel(const Block& block, size_t at, const __m512i* symbols, const uint8_t* escapes,
                      const Out& out) {
  constexpr size_t kStep = kWide ? 16 : 8;
  // The symbols live in registers: stores through bytes could change an array.
  const __m512i kept[3] = {symbols[0], symbols[kWide ? 1 : 0], symbols[kWide ? 2 : 0]};
  const uint8_t* planes = block.planes[0];
  // The next block takes about as many bytes as this one.
  const size_t ahead = static_cast<size_t>(block.end - planes) / (block.n / 64 + 1) + 1;
  const uint8_t* coded_ahead = block.end;
  const uint8_t* const all = escapes + block.codes[1];
  size_t done = 0;
  for (; done + 64 <= block.n; done += 64, planes += kStep) {
    out.Prefetch(at + done);
    _mm_prefetch(reinterpret_cast<const char*>(coded_ahead), _MM_HINT_T0);
    coded_ahead += ahead;
    const uint64_t x = LoadWord(planes);
    const uint64_t y = kWide ? LoadWord(planes + 8) : 0;
    out.Put(DecodeWord<kWide>(x, y, kept, escapes), at + done);
  }
  if (done == block.n) return escapes == all;
  const uint64_t x = LoadWord(planes);
  const uint64_t y = kWide ? LoadWord(planes + 8) : 0;
  out.PutPart(DecodeWord<kWide>(x, y, kept, escapes), at + done, block.n - done);
  return escapes == all;
}

inline __m512i Rotated(__m512i symbols) {
  const __m512i low7 = _mm512_set1_epi8(0x7f);
  return _mm512_ternarylogic_epi64(low7, _mm512_srli_epi16(symbols, 1),
                                   _mm512_slli_epi16(symbols, 7), 0xca);
}

// The block's symbols stored as they are, or all the same.
template <typename Out>
void CopyBlock(const Block& block, size_t at, const Out& out) {
  const bool constant = block.shape == kConstantShape;
  __m512i symbols = Broadcast(*block.bytes);
  if (Out::kRotated) symbols = Rotated(symbols);
  for (size_t done = 0; done < block.n; done += 64) {
    const size_t n = block.n - done;
    if (!constant) {
      symbols = _mm512_loadu_si512(block.bytes + done);
      if (Out::kRotated) symbols = Rotated(symbols);
    }
    if (n >= 64) {
      out.PutPlain(symbols, at + done);
    } else {
      out.PutPlainPart(symbols, at + done, n);
    }
  }
}

inline const __m512i* SymbolsOf(const Block& block, const __m512i* symbols, unsigned level) {
  return symbols + level + 2 * (level < block.wide ? level : block.wide);
}

// The levels of one word or less, from the last one up to `level` (not the first): in a register,
// because a load of what was just stored somewhere else waits for the store.
inline __m512i DecodeShortLevels(const Block& block, const __m512i* symbols, __m512i bytes,
                                 unsigned& level) {
  while (level > 1 && block.codes[level - 1] <= 64) {
    --level;
    const auto n = static_cast<unsigned>(block.codes[level]);
    const uint8_t* const planes = block.planes[level];
    const __m512i* const own = SymbolsOf(block, symbols, level);
    const uint64_t x = _bzhi_u64(LoadWord(planes), n);
    if (level < block.wide) {
      const uint64_t y = _bzhi_u64(LoadWord(planes + (n + 7) / 8), n);
      bytes = DecodeWord<true>(x, y, own, bytes);
    } else {
      bytes = DecodeWord<false>(x, 0, own, bytes);
    }
  }
  return bytes;
}

template <typename Out>
bool DecodeBlock(const Block& block, size_t at, Sequence* sequences, const Out& out) {
  if (block.levels == 0) {
    CopyBlock(block, at, out);
    return true;
  }
  __m512i symbols[kMostSymbols + 1];
  for (unsigned i = 0; i < kMostSymbols; ++i) {
    symbols[i] = Broadcast(Out::kRotated ? Rotated(block.symbols[i]) : block.symbols[i]);
  }
  unsigned level = block.levels;
  const uint8_t* escapes = sequences[0].bytes;
  for (size_t i = 64; i < block.codes[level]; i += 64) {
    const __m512i bytes = _mm512_loadu_si512(block.bytes + i);
    _mm512_store_si512(sequences[0].bytes + i, Out::kRotated ? Rotated(bytes) : bytes);
  }
  __m512i bytes = _mm512_loadu_si512(block.bytes);
  if (Out::kRotated) bytes = Rotated(bytes);
  if (block.codes[level] <= 64) bytes = DecodeShortLevels(block, symbols, bytes, level);
  _mm512_store_si512(sequences[0].bytes, bytes);
  for (unsigned turn = 1; level > 1; turn ^= 1) {
    --level;
    uint8_t* const out_bytes = sequences[turn].bytes;
    const __m512i* const own = SymbolsOf(block, symbols, level);
    if (level < block.wide) {
      DecodeLevel<true>(block.planes[level], block.codes[level], own, escapes, out_bytes);
    } else {
      DecodeLevel<false>(block.planes[level], block.codes[level], own, escapes, out_bytes);
    }
    escapes = out_bytes;
  }
  return block.wide > 0 ? DecodeFirstLevel<true>(block, at, symbols, escapes, out)
                        : DecodeFirstLevel<false>(block, at, symbols, escapes, out);
}

bool DecodeSymbols(const uint8_t* coded, size_t coded_bytes, size_t n, uint8_t* symbols) {
  return DecodePlane<Sequence>(coded, coded_bytes, n, Bytes{symbols});
}

bool DecodeBf16(const uint8_t* coded, size_t coded_bytes, const uint8_t* rest, size_t n,
                uint16_t* out, bool streaming) {
  auto* const bytes = reinterpret_cast<uint8_t*>(out);
  if (!streaming || reinterpret_cast<uintptr_t>(out) % 64 != 0) {
    return DecodePlane<Sequence>(coded, coded_bytes, n, Elements<false>{rest, bytes});
  }
  const bool good = DecodePlane<Sequence>(coded, coded_bytes, n, Elements<true>{rest, bytes});
  _mm_sfence();  // Whoever is told that the elements are there must see them.
  return good;
}

constexpr Kernels kKernels = {"avx512", DecodeSymbols, DecodeBf16};

}  // namespace

const Kernels* BuiltAvx512() { return &kKernels; }

#else

const Kernels* BuiltAvx512() { return nullptr; }

#endif

}  // namespace penstock::ops::chain
