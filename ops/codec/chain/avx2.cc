#include "ops/codec/chain/chain.h"
#include "ops/codec/chain/format.h"

#if defined(__AVX2__) && defined(__BMI2__)
#include <immintrin.h>
#endif

// Symbols stay bits until the end: each has a number of four bits, its place in a table of 16 bytes,
// in four planes. Levels are merged by depositing the bits of one under the escapes of the level
// before, 64 at a time; then the planes of 256 symbols at once are turned into bytes.
namespace penstock::ops::chain {

const Kernels* BuiltAvx2();

#if defined(__AVX2__) && defined(__BMI2__)

namespace {

size_t CountEscapes(const uint8_t* level, bool wide, size_t words);

// clang-format off
#include "ops/codec/chain/block.inc.h"
// clang-format on

size_t CountEscapes(const uint8_t* level, bool wide, size_t words) {
  size_t count = 0;
  if (wide) {
    for (size_t w = 0; w < words; ++w, level += 16) {
      count += static_cast<size_t>(_mm_popcnt_u64(LoadWord(level) & LoadWord(level + 8)));
    }
  } else {
    for (size_t w = 0; w < words; ++w, level += 8) {
      count += static_cast<size_t>(_mm_popcnt_u64(LoadWord(level)));
    }
  }
  return count;
}

// How far ahead the rest is asked for.
constexpr size_t kRestAhead = 4096;

// The numbers of a level's symbols, and a few words more: the level before reads up to two words
// behind them, and what turns numbers into bytes takes whole groups of four. 15 is an exception.
constexpr size_t kMoreWords = 4;
struct Numbers {
  alignas(32) uint64_t planes[4][kMostBlock / 64 + kMoreWords];
};

// 64 bits of a plane from the `at`-th on; any number of them is valid.
inline uint64_t AllBits(const uint64_t* plane, size_t at) {
  const uint64_t low = plane[at / 64] >> at % 64;
  return low | (plane[at / 64 + 1] << 1) << (63 - at % 64);
}
// The same by one load, of which the first 57 bits are valid.
inline uint64_t MostBits(const uint64_t* plane, size_t at) {
  return LoadWord(reinterpret_cast<const uint8_t*>(plane) + at / 8) >> at % 8;
}

// What a level's symbols have in common: a wide level's are base, base + 1 and base + 2, base being
// a multiple of four.
struct Base {
  explicit Base(unsigned base)
      : bits0((base & 1) != 0 ? ~uint64_t{0} : 0),
        bits1((base & 2) != 0 ? ~uint64_t{0} : 0),
        bits2((base & 4) != 0 ? ~uint64_t{0} : 0),
        bits3((base & 8) != 0 ? ~uint64_t{0} : 0) {}
  uint64_t bits0;
  uint64_t bits1;
  uint64_t bits2;
  uint64_t bits3;
};

// One word of a level. `used` of the escapes were used before.
template <bool kWide>
inline void DecodeWord(uint64_t x, uint64_t y, const Base& base, const Numbers& escapes,
                       size_t& used, Numbers& out, size_t w) {
  const uint64_t mask = kWide ? x & y : x;
  const auto count = static_cast<size_t>(_mm_popcnt_u64(mask));
  uint64_t bits0 = MostBits(escapes.planes[0], used);
  uint64_t bits1 = MostBits(escapes.planes[1], used);
  uint64_t bits2 = MostBits(escapes.planes[2], used);
  uint64_t bits3 = MostBits(escapes.planes[3], used);
  if (__builtin_expect(count > 57, 0)) {
    bits0 = AllBits(escapes.planes[0], used);
    bits1 = AllBits(escapes.planes[1], used);
    bits2 = AllBits(escapes.planes[2], used);
    bits3 = AllBits(escapes.planes[3], used);
  }
  used += count;
  out.planes[0][w] = (kWide ? x ^ mask : base.bits0 & ~mask) | _pdep_u64(bits0, mask);
  out.planes[1][w] = (kWide ? y ^ mask : base.bits1 & ~mask) | _pdep_u64(bits1, mask);
  out.planes[2][w] = (base.bits2 & ~mask) | _pdep_u64(bits2, mask);
  out.planes[3][w] = (base.bits3 & ~mask) | _pdep_u64(bits3, mask);
}

template <bool kWide>
void DecodeLevel(const uint8_t* planes, size_t words, size_t rest, unsigned number,
                 const Numbers& escapes, Numbers& out) {
  const Base base(number);
  size_t used = 0;
  for (size_t w = 0; w < words; ++w) {
    const uint64_t x = LoadWord(planes);
    const uint64_t y = kWide ? LoadWord(planes + 8) : 0;
    planes += kWide ? 16 : 8;
    DecodeWord<kWide>(x, y, base, escapes, used, out, w);
  }
  if (rest != 0) {
    const uint64_t codes = (uint64_t{1} << rest) - 1;
    const uint64_t x = LoadWord(planes) & codes;
    const uint64_t y = kWide ? LoadWord(planes + (rest + 7) / 8) & codes : 0;
    DecodeWord<kWide>(x, y, base, escapes, used, out, words++);
  }
  for (auto& plane : out.planes) {
    for (size_t w = words; w < words + kMoreWords; ++w) plane[w] = 0;
  }
}

// The numbers of a block's symbols; the table gets the symbol of each number. Wide levels have
// numbers 0 1 2, 4 5 6 and so on, narrow ones take those that are left.
const Numbers& DecodeLevels(const Block& block, Numbers* turns, uint8_t* table) {
  unsigned numbers[kMostLevels];
  const uint8_t* symbol = block.symbols;
  for (unsigned i = 0; i < 16; ++i) table[i] = 0;
  for (unsigned i = 0; i < block.wide; ++i) {
    numbers[i] = 4 * i;
    for (unsigned k = 0; k < 3; ++k) table[4 * i + k] = *symbol++;
  }
  unsigned number = block.wide > 0 ? 3 : 0;
  for (unsigned i = block.wide; i < block.levels; ++i) {
    numbers[i] = number;
    table[number] = *symbol++;
    number += number + 1 < 4 * block.wide ? 4 : 1;
  }
  for (auto& plane : turns[0].planes) {
    for (size_t w = 0; w < block.codes[block.levels] / 64 + 2; ++w) plane[w] = ~uint64_t{0};
  }
  unsigned turn = 0;
  for (unsigned i = block.levels; i-- > 0; turn ^= 1) {
    const size_t n = block.codes[i];
    const size_t words = i == 0 ? (n + 63) / 64 : n / 64;
    const size_t rest = i == 0 ? 0 : n % 64;
    if (i < block.wide) {
      DecodeLevel<true>(block.planes[i], words, rest, numbers[i], turns[turn], turns[turn ^ 1]);
    } else {
      DecodeLevel<false>(block.planes[i], words, rest, numbers[i], turns[turn], turns[turn ^ 1]);
    }
  }
  return turns[turn];
}

inline uint8_t Rotated(uint8_t symbol) { return static_cast<uint8_t>(symbol >> 1 | symbol << 7); }

// Takes the bits of `low` where `mask` has ones below the shift, and those of `high` above it.
template <int kShift>
inline void Mix(__m256i a, __m256i b, __m256i mask, __m256i& low, __m256i& high) {
  low = _mm256_or_si256(_mm256_and_si256(a, mask),
                        _mm256_slli_epi16(_mm256_and_si256(b, mask), kShift));
  high = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16(a, kShift), mask),
                         _mm256_andnot_si256(mask, b));
}

// Four qwords of each of four vectors to four vectors of one qword of each: out[w] has those of word
// w in the order a b c d.
inline void Transpose(__m256i a, __m256i b, __m256i c, __m256i d, __m256i* out) {
  const __m256i ab02 = _mm256_unpacklo_epi64(a, b);
  const __m256i ab13 = _mm256_unpackhi_epi64(a, b);
  const __m256i cd02 = _mm256_unpacklo_epi64(c, d);
  const __m256i cd13 = _mm256_unpackhi_epi64(c, d);
  out[0] = _mm256_permute2x128_si256(ab02, cd02, 0x20);
  out[2] = _mm256_permute2x128_si256(ab13, cd13, 0x20);
  out[4] = _mm256_permute2x128_si256(ab02, cd02, 0x31);
  out[6] = _mm256_permute2x128_si256(ab13, cd13, 0x31);
}

// 256 symbols as bytes, eight vectors of 32, in each of which the lanes of eight are 0 2 1 3: so
// that unpacking inside 128 bits gives neighbours.
struct Group {
  __m256i symbols[8];
};

inline Group ToBytes(const Numbers& numbers, size_t w, __m256i table) {
  const auto plane = [&](unsigned i) {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(numbers.planes[i] + w));
  };
  const __m256i pairs = _mm256_set1_epi8(0x55);
  const __m256i quads = _mm256_set1_epi8(0x33);
  const __m256i low4 = _mm256_set1_epi8(0x0f);
  // Bits 0 and 1 of the even and odd symbols of each byte, then 2 and 3, then all of every fourth.
  __m256i low_even;
  __m256i low_odd;
  __m256i high_even;
  __m256i high_odd;
  Mix<1>(plane(0), plane(1), pairs, low_even, low_odd);
  Mix<1>(plane(2), plane(3), pairs, high_even, high_odd);
  __m256i numbers4[4];  // Symbols i and i + 4 of each byte.
  Mix<2>(low_even, high_even, quads, numbers4[0], numbers4[2]);
  Mix<2>(low_odd, high_odd, quads, numbers4[1], numbers4[3]);
  const auto low = [&](unsigned i) {
    return _mm256_shuffle_epi8(table, _mm256_and_si256(numbers4[i], low4));
  };
  const auto high = [&](unsigned i) {
    return _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(numbers4[i], 4), low4));
  };
  Group group;
  Transpose(low(0), low(2), low(1), low(3), group.symbols);
  Transpose(high(0), high(2), high(1), high(3), group.symbols + 1);
  return group;
}

// A bit for each exception of four words.
inline bool AnyException(const Numbers& numbers, size_t w) {
  const auto plane = [&](unsigned i) {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(numbers.planes[i] + w));
  };
  const __m256i low = _mm256_and_si256(plane(0), plane(1));
  const __m256i high = _mm256_and_si256(plane(2), plane(3));
  return _mm256_testz_si256(low, high) == 0;
}

constexpr int kLanes = 0xd8;  // 0 2 1 3, its own reverse.

// Puts the exceptions of a group where they belong.
__attribute__((noinline)) void PutExceptions(const Numbers& numbers, size_t w, bool rotated,
                                             const uint8_t*& exceptions, Group& group) {
  alignas(32) uint8_t symbols[256];
  auto* const vectors = reinterpret_cast<__m256i*>(symbols);
  for (unsigned i = 0; i < 8; ++i) {
    _mm256_store_si256(vectors + i, _mm256_permute4x64_epi64(group.symbols[i], kLanes));
  }
  for (size_t k = 0; k < 4; ++k) {
    uint64_t places = numbers.planes[0][w + k] & numbers.planes[1][w + k] &
                      numbers.planes[2][w + k] & numbers.planes[3][w + k];
    for (; places != 0; places &= places - 1) {
      const auto place = static_cast<size_t>(__builtin_ctzll(places));
      const uint8_t symbol = *exceptions++;
      symbols[64 * k + place % 8 * 8 + place / 8] = rotated ? Rotated(symbol) : symbol;
    }
  }
  for (unsigned i = 0; i < 8; ++i) {
    group.symbols[i] = _mm256_permute4x64_epi64(_mm256_load_si256(vectors + i), kLanes);
  }
}

// What comes out: the symbols.
struct Bytes {
  static constexpr bool kRotated = false;
  static constexpr size_t kBytes = 1;
  uint8_t* out;

  void Put(const Group& group, size_t at) const {
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

  void Put(const Group& group, size_t at) const {
    const __m256i low7 = _mm256_set1_epi8(0x7f);
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
    for (unsigned i = 0; i < 4; ++i) {
      _mm_prefetch(reinterpret_cast<const char*>(rest + at + kRestAhead + 64 * i), _MM_HINT_T0);
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

template <typename Out>
void PutGroup(const Group& group, size_t at, size_t n, const Out& out) {
  if (n >= 256) {
    out.Put(group, at);
  } else {
    out.PutPart(group, at, n);
  }
}

// The block's symbols stored as they are, or all the same.
template <typename Out>
void CopyBlock(const Block& block, size_t at, const Out& out) {
  const bool constant = block.shape == kConstantShape;
  alignas(32) uint8_t symbols[256];
  for (size_t done = 0; done < block.n; done += 256) {
    const size_t n = block.n - done < 256 ? block.n - done : 256;
    for (size_t i = 0; i < n; ++i) {
      const uint8_t symbol = block.bytes[constant ? 0 : done + i];
      symbols[i] = Out::kRotated ? Rotated(symbol) : symbol;
    }
    Group group;
    for (unsigned i = 0; i < 8; ++i) {
      const auto* const from = reinterpret_cast<const __m256i*>(symbols + 32 * i);
      group.symbols[i] = _mm256_permute4x64_epi64(_mm256_load_si256(from), kLanes);
    }
    PutGroup(group, at + done, n, out);
  }
}

template <typename Out>
void DecodeBlock(const Block& block, size_t at, Numbers* turns, const Out& out) {
  if (block.levels == 0) return CopyBlock(block, at, out);
  alignas(16) uint8_t table[16];
  const Numbers& numbers = DecodeLevels(block, turns, table);
  if (Out::kRotated) {
    for (uint8_t& symbol : table) symbol = Rotated(symbol);
  }
  const __m256i symbols =
      _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(table)));
  const uint8_t* exceptions = block.bytes;
  const uint8_t* coded_ahead = block.end;
  // The next block takes about as many bytes as this one.
  const size_t lines = static_cast<size_t>(block.end - block.planes[0]) / (block.n / 4 + 1) + 1;
  for (size_t done = 0; done < block.n; done += 256) {
    out.Prefetch(at + done);
    for (size_t i = 0; i < lines; ++i, coded_ahead += 64) {
      _mm_prefetch(reinterpret_cast<const char*>(coded_ahead), _MM_HINT_T0);
    }
    Group group = ToBytes(numbers, done / 64, symbols);
    if (__builtin_expect(AnyException(numbers, done / 64), 0)) {
      PutExceptions(numbers, done / 64, Out::kRotated, exceptions, group);
    }
    PutGroup(group, at + done, block.n - done, out);
  }
}

template <typename Out>
bool DecodePlane(const uint8_t* coded, size_t coded_bytes, size_t n, const Out& out) {
  if (n == 0) return coded_bytes == 0;
  const uint8_t* const end = coded + coded_bytes;
  if (coded_bytes == 0 || *coded == 0 || *coded > kMostUnits) return false;
  const size_t most = *coded * kUnit;
  Numbers turns[2];
  Block block;
  block.end = coded + 1;
  for (size_t at = 0; at < n; at += most) {
    if (!ReadBlock(block.end, end, n - at < most ? n - at : most, block)) return false;
    DecodeBlock(block, at, turns, out);
  }
  return block.end == end;
}

bool DecodeSymbols(const uint8_t* coded, size_t coded_bytes, size_t n, uint8_t* symbols) {
  return DecodePlane(coded, coded_bytes, n, Bytes{symbols});
}

bool DecodeBf16(const uint8_t* coded, size_t coded_bytes, const uint8_t* rest, size_t n,
                uint16_t* out, bool streaming) {
  auto* const bytes = reinterpret_cast<uint8_t*>(out);
  if (!streaming || reinterpret_cast<uintptr_t>(out) % 32 != 0) {
    return DecodePlane(coded, coded_bytes, n, Elements<false>{rest, bytes});
  }
  const bool good = DecodePlane(coded, coded_bytes, n, Elements<true>{rest, bytes});
  _mm_sfence();  // Whoever is told that the elements are there must see them.
  return good;
}

constexpr Kernels kKernels = {"avx2", DecodeSymbols, DecodeBf16};

}  // namespace

const Kernels* BuiltAvx2() { return &kKernels; }

#else

const Kernels* BuiltAvx2() { return nullptr; }

#endif

}  // namespace penstock::ops::chain
