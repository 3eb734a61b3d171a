#include "ops/codec/chain/chain.h"
#include "ops/codec/chain/format.h"

#if defined(__AVX2__) && defined(__BMI2__)
#include <immintrin.h>
#endif

// Symbols stay bits until the end: each has a number of four bits, its place in a table of 16
// bytes, in four planes. Levels are merged by depositing the bits of one under the escapes of the
// level before, 64 at a time; then the planes of 256 symbols at once are turned into bytes.
namespace penstock::ops::chain {

const Kernels* BuiltAvx2();

#if defined(__AVX2__) && defined(__BMI2__)

namespace {

size_t CountEscapes(const uint8_t* level, bool wide, size_t words);

// clang-format off
#include "ops/codec/chain/block.inc.h"
#include "ops/codec/chain/avx2_output.inc.h"
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

// The numbers of a level's symbols; 15 is an exception. For those of escapes, planes 0 and 1 are
// inverted: as the codes are ones there, one exclusive-or then puts them in. And a few words more:
// the level before reads up to two words behind them and uses none of their bits, and what turns
// numbers into bytes takes whole groups of four.
constexpr size_t kMoreWords = 4;
struct Numbers {
  alignas(32) uint64_t planes[4][kMostBlock / 64 + kMoreWords];
};

// 64 bits of a plane from the `at`-th on; any number of them is valid.
inline uint64_t AllBits(const uint64_t* plane, size_t at) {
  const uint64_t low = plane[at / 64] >> at % 64;
  return low | (plane[at / 64 + 1] << 1) << (63 - at % 64);
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
template <bool kFirst, bool kWide>
PENSTOCK_INLINE void DecodeWord(uint64_t x, uint64_t y, const Base& base, const Numbers& escapes,
                                size_t& used, Numbers& out, size_t w) {
  const uint64_t mask = kWide ? x & y : x;
  const auto count = static_cast<size_t>(_mm_popcnt_u64(mask));
  // One load and shift a plane, by which the first 57 bits are valid.
  constexpr size_t kPlane = sizeof escapes.planes[0];
  const uint8_t* const from = reinterpret_cast<const uint8_t*>(escapes.planes) + used / 8;
  uint64_t bits0 = LoadWord(from) >> used % 8;
  uint64_t bits1 = LoadWord(from + kPlane) >> used % 8;
  uint64_t bits2 = LoadWord(from + 2 * kPlane) >> used % 8;
  uint64_t bits3 = LoadWord(from + 3 * kPlane) >> used % 8;
  if (__builtin_expect(count > 57, 0)) {
    bits0 = AllBits(escapes.planes[0], used);
    bits1 = AllBits(escapes.planes[1], used);
    bits2 = AllBits(escapes.planes[2], used);
    bits3 = AllBits(escapes.planes[3], used);
  }
  used += count;
  uint64_t own0 = kWide ? x : base.bits0 | mask;
  uint64_t own1 = kWide ? y : base.bits1 | mask;
  if constexpr (!kFirst) {
    own0 = ~own0;
    own1 = ~own1;
  }
  out.planes[0][w] = own0 ^ _pdep_u64(bits0, mask);
  out.planes[1][w] = own1 ^ _pdep_u64(bits1, mask);
  out.planes[2][w] = (base.bits2 & ~mask) | _pdep_u64(bits2, mask);
  out.planes[3][w] = (base.bits3 & ~mask) | _pdep_u64(bits3, mask);
}

// The numbers of 64 symbols, of escapes.
struct Word {
  uint64_t bits0;
  uint64_t bits1;
  uint64_t bits2;
  uint64_t bits3;
};

// Levels of one word or less, from the last one up to `level` (not the first), where there are no
// more exceptions than that: in registers, because a load of what was just stored somewhere else
// waits for the store.
inline Word DecodeShortLevels(const Block& block, const unsigned* numbers, unsigned& level) {
  constexpr uint64_t kOnes = ~uint64_t{0};
  Word word = {0, 0, kOnes, kOnes};
  while (level > 1 && block.codes[level - 1] <= 64) {
    --level;
    const auto n = static_cast<unsigned>(block.codes[level]);
    const bool wide = level < block.wide;
    const uint8_t* const planes = block.planes[level];
    const uint64_t x = _bzhi_u64(LoadWord(planes), n);
    const uint64_t y = wide ? _bzhi_u64(LoadWord(planes + (n + 7) / 8), n) : x;
    const uint64_t mask = x & y;
    const Base base(numbers[level]);
    const uint64_t own0 = wide ? x : base.bits0 | mask;
    const uint64_t own1 = wide ? y : base.bits1 | mask;
    word = {~own0 ^ _pdep_u64(word.bits0, mask), ~own1 ^ _pdep_u64(word.bits1, mask),
            (base.bits2 & ~mask) | _pdep_u64(word.bits2, mask),
            (base.bits3 & ~mask) | _pdep_u64(word.bits3, mask)};
  }
  return word;
}

template <bool kWide>
void DecodeLevel(const uint8_t* planes, size_t n, unsigned number, const Numbers& escapes,
                 Numbers& out) {
  const Base base(number);
  const size_t words = n / 64;
  const size_t rest = n % 64;
  size_t used = 0;
  for (size_t w = 0; w < words; ++w) {
    const uint64_t x = LoadWord(planes);
    const uint64_t y = kWide ? LoadWord(planes + 8) : 0;
    planes += kWide ? 16 : 8;
    DecodeWord<false, kWide>(x, y, base, escapes, used, out, w);
  }
  if (rest != 0) {
    const uint64_t codes = (uint64_t{1} << rest) - 1;
    const uint64_t x = LoadWord(planes) & codes;
    const uint64_t y = kWide ? LoadWord(planes + (rest + 7) / 8) & codes : 0;
    DecodeWord<false, kWide>(x, y, base, escapes, used, out, words);
  }
}

// The numbers of the escapes of a block's first level, in the one of two places that is answered;
// the table gets the symbol of each number. Wide levels have numbers 0 1 2, 4 5 6 and so on, narrow
// ones take those that are left, so the first level's are 0 on.
unsigned DecodeEscapes(const Block& block, Numbers* turns, uint8_t* table) {
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
  unsigned level = block.levels;
  if (block.codes[level] > 64) {
    for (unsigned i = 0; i < 4; ++i) {
      for (size_t w = 0; w <= block.codes[level] / 64; ++w) {
        turns[0].planes[i][w] = i < 2 ? 0 : ~uint64_t{0};
      }
    }
  } else {
    const Word word = DecodeShortLevels(block, numbers, level);
    turns[0].planes[0][0] = word.bits0;
    turns[0].planes[1][0] = word.bits1;
    turns[0].planes[2][0] = word.bits2;
    turns[0].planes[3][0] = word.bits3;
  }
  unsigned turn = 0;
  for (unsigned i = level; i-- > 1; turn ^= 1) {
    if (i < block.wide) {
      DecodeLevel<true>(block.planes[i], block.codes[i], numbers[i], turns[turn], turns[turn ^ 1]);
    } else {
      DecodeLevel<false>(block.planes[i], block.codes[i], numbers[i], turns[turn], turns[turn ^ 1]);
    }
  }
  return turn;
}

// Takes the bits of `low` where `mask` has ones below the shift, and those of `high` above it.
template <int kShift>
PENSTOCK_INLINE void Mix(__m256i a, __m256i b, __m256i mask, __m256i& low, __m256i& high) {
  low = _mm256_or_si256(_mm256_and_si256(a, mask),
                        _mm256_slli_epi16(_mm256_and_si256(b, mask), kShift));
  high = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16(a, kShift), mask),
                         _mm256_andnot_si256(mask, b));
}

// Four qwords of each of four vectors to four vectors of one qword of each: out[w] has those of
// word w in the order a b c d.
PENSTOCK_INLINE void Transpose(__m256i a, __m256i b, __m256i c, __m256i d, __m256i* out) {
  const __m256i ab02 = _mm256_unpacklo_epi64(a, b);
  const __m256i ab13 = _mm256_unpackhi_epi64(a, b);
  const __m256i cd02 = _mm256_unpacklo_epi64(c, d);
  const __m256i cd13 = _mm256_unpackhi_epi64(c, d);
  out[0] = _mm256_permute2x128_si256(ab02, cd02, 0x20);
  out[2] = _mm256_permute2x128_si256(ab13, cd13, 0x20);
  out[4] = _mm256_permute2x128_si256(ab02, cd02, 0x31);
  out[6] = _mm256_permute2x128_si256(ab13, cd13, 0x31);
}

PENSTOCK_INLINE Group ToBytes(const Numbers& numbers, size_t w, __m256i table) {
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

// Whether four words have an exception.
PENSTOCK_INLINE bool AnyException(const Numbers& numbers, size_t w) {
  const auto plane = [&](unsigned i) {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(numbers.planes[i] + w));
  };
  const __m256i low = _mm256_and_si256(plane(0), plane(1));
  const __m256i high = _mm256_and_si256(plane(2), plane(3));
  return _mm256_testz_si256(low, high) == 0;
}

// Where the exceptions of word w are.
inline uint64_t Exceptions(const Numbers& numbers, size_t w) {
  return numbers.planes[0][w] & numbers.planes[1][w] & numbers.planes[2][w] & numbers.planes[3][w];
}

// Puts different exceptions of a group where they belong.
inline void PutExceptions(const Numbers& numbers, size_t w, bool rotated, const uint8_t* exceptions,
                          Group& group) {
  alignas(32) uint8_t symbols[256];
  auto* const vectors = reinterpret_cast<__m256i*>(symbols);
  for (unsigned i = 0; i < 8; ++i) {
    _mm256_store_si256(vectors + i, _mm256_permute4x64_epi64(group.symbols[i], kLanes));
  }
  for (size_t k = 0; k < 4; ++k) {
    for (uint64_t places = Exceptions(numbers, w + k); places != 0; places &= places - 1) {
      const auto place = static_cast<size_t>(__builtin_ctzll(places));
      const uint8_t symbol = *exceptions++;
      symbols[64 * k + place % 8 * 8 + place / 8] = rotated ? Rotated(symbol) : symbol;
    }
  }
  for (unsigned i = 0; i < 8; ++i) {
    group.symbols[i] = _mm256_permute4x64_epi64(_mm256_load_si256(vectors + i), kLanes);
  }
}

// The block's symbols stored as they are, or all the same.
template <typename Out>
__attribute__((noinline)) void CopyBlock(const Block& block, size_t at, const Out& out) {
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
    out.PutPart(group, at + done, n);
  }
}

// The table with the symbol of number 15.
inline __m256i WithException(__m256i table, uint8_t symbol) {
  const __m256i last = _mm256_set_epi64x(int64_t{255} << 56, 0, int64_t{255} << 56, 0);
  return _mm256_blendv_epi8(table, _mm256_set1_epi8(static_cast<char>(symbol)), last);
}

// A group with exceptions or of less than 256 symbols. Apart, so that the common one stays in
// registers. A single exception, the commonest case, takes the number that exceptions have. Answers
// the exceptions of the next group, nullptr when there are less than this one has up to `end`: then
// the escapes were too many.
template <typename Out>
__attribute__((noinline)) const uint8_t* PutSlowly(const Numbers& numbers, size_t w, __m256i table,
                                                   const uint8_t* exceptions, const uint8_t* end,
                                                   size_t at, size_t n, Out out) {
  size_t count = 0;
  for (size_t k = 0; k < 4; ++k) {
    count += static_cast<size_t>(_mm_popcnt_u64(Exceptions(numbers, w + k)));
  }
  if (count > static_cast<size_t>(end - exceptions)) return nullptr;
  if (count == 1) {
    table = WithException(table, Out::kRotated ? Rotated(*exceptions) : *exceptions);
  }
  Group group = ToBytes(numbers, w, table);
  if (count > 1) PutExceptions(numbers, w, Out::kRotated, exceptions, group);
  if (n < 256) {
    out.PutPart(group, at, n);
  } else {
    out.Put(group, at);
  }
  return exceptions + count;
}

// The first level, group after group.
template <bool kWide>
class FirstLevel {
 public:
  FirstLevel(const Block& block, const Numbers& escapes, Numbers& out)
      : planes_(block.planes[0]), escapes_(escapes), out_(out) {}
  // Of the escapes.
  size_t used() const { return used_; }
  // The next four words.
  PENSTOCK_INLINE void Group() {
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; ++i) Word(i);
    planes_ += 4 * kStep;
    word_ += 4;
  }
  // The last ones, less than four, and others for a whole group.
  void LastGroup(size_t words) {
    for (size_t i = 0; i < 4; ++i) {
      if (i < words) {
        Word(i);
      } else {
        for (auto& plane : out_.planes) plane[word_ + i] = 0;
      }
    }
  }

 private:
  static constexpr size_t kStep = kWide ? 16 : 8;

  PENSTOCK_INLINE void Word(size_t i) {
    const uint64_t x = LoadWord(planes_ + i * kStep);
    const uint64_t y = kWide ? LoadWord(planes_ + i * kStep + 8) : 0;
    DecodeWord<true, kWide>(x, y, Base(0), escapes_, used_, out_, word_ + i);
  }

  const uint8_t* planes_;
  size_t word_ = 0;
  size_t used_ = 0;
  const Numbers& escapes_;
  Numbers& out_;
};

// The first level goes a few groups ahead of what turns its numbers into bytes: far enough that
// they are in the cache, and near enough that the two, which use different parts of the processor,
// overlap with each other and with the memory. 1 or 2 groups, or the whole block, are slower by a
// few hundredths.
constexpr size_t kLead = 4;

// The coded bytes of the next block are asked for while this one is decoded: so many for a group,
// which is more than a block without raw symbols is likely to have.
constexpr size_t kCodedAhead = 128;

// Apart, and `out` by value, for the sake of its registers.
template <bool kWide, typename Out>
__attribute__((noinline)) bool DecodeFirstLevel(const Block& block, size_t at,
                                                const Numbers& escapes, Numbers& numbers,
                                                __m256i symbols, Out out) {
  const uint8_t* exceptions = block.bytes;
  const uint8_t* coded_ahead = block.end;
  FirstLevel<kWide> level(block, escapes, numbers);
  const size_t groups = block.n / 256;
  const size_t lead = groups < kLead ? groups : kLead;
  for (size_t g = 0; g < lead; ++g) level.Group();
  for (size_t g = 0; g < groups; ++g, at += 256) {
    out.Prefetch(at);
    _mm_prefetch(reinterpret_cast<const char*>(coded_ahead), _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(coded_ahead + 64), _MM_HINT_T0);
    coded_ahead += kCodedAhead;
    if (g + lead < groups) level.Group();
    if (__builtin_expect(!AnyException(numbers, 4 * g), 1)) {
      out.Put(ToBytes(numbers, 4 * g, symbols), at);
    } else {
      exceptions = PutSlowly(numbers, 4 * g, symbols, exceptions, block.end, at, 256, out);
      if (exceptions == nullptr) return false;
    }
  }
  if (block.n % 256 != 0) {
    level.LastGroup((block.n % 256 + 63) / 64);
    exceptions =
        PutSlowly(numbers, 4 * groups, symbols, exceptions, block.end, at, block.n % 256, out);
    if (exceptions == nullptr) return false;
  }
  return level.used() == block.codes[1];
}

template <typename Out>
bool DecodeBlock(const Block& block, size_t at, Numbers* turns, const Out& out) {
  if (block.levels == 0) {
    CopyBlock(block, at, out);
    return true;
  }
  alignas(16) uint8_t table[16];
  const unsigned turn = DecodeEscapes(block, turns, table);
  if (Out::kRotated) {
    for (uint8_t& symbol : table) symbol = Rotated(symbol);
  }
  const __m256i symbols =
      _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(table)));
  const Numbers& escapes = turns[turn];
  Numbers& numbers = turns[turn ^ 1];
  return block.wide > 0 ? DecodeFirstLevel<true>(block, at, escapes, numbers, symbols, out)
                        : DecodeFirstLevel<false>(block, at, escapes, numbers, symbols, out);
}

bool DecodeSymbols(const uint8_t* coded, size_t coded_bytes, size_t n, uint8_t* symbols) {
  return DecodePlane<Numbers>(coded, coded_bytes, n, Bytes{symbols});
}

bool DecodeBf16(const uint8_t* coded, size_t coded_bytes, const uint8_t* rest, size_t n,
                uint16_t* out, bool streaming) {
  auto* const bytes = reinterpret_cast<uint8_t*>(out);
  if (!streaming || reinterpret_cast<uintptr_t>(out) % 32 != 0) {
    return DecodePlane<Numbers>(coded, coded_bytes, n, Elements<false>{rest, bytes});
  }
  const bool good = DecodePlane<Numbers>(coded, coded_bytes, n, Elements<true>{rest, bytes});
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
