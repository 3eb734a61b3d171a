#include <algorithm>
#include <cstring>
#include <vector>

#include "ops/codec/chain/chain.h"
#include "ops/codec/chain/format.h"

namespace penstock::ops::chain {
namespace {

// What the levels behind the first cost a decoder is worth bytes: so many a level, even if it is
// nearly empty, and one for so many codes. Of all bytes stored for a byte of bf16, and of memcpy's
// rate past the caches with AVX2 (BM_ChainBf16Streaming, best of 3):
//   128 codes a byte 0.6652, 1.02    64: 0.6658, 1.05    40: 0.6667, 1.07    24: 0.6669, 1.08
constexpr size_t kLevelPrice = 2;
constexpr size_t kCodesOfByte = 64;

using Counts = uint16_t[256];  // Of a block: at most kMostBlock each.

// The symbols that occur are from `low` to `high`.
struct Range {
  unsigned low;
  unsigned high;
};

struct Dictionary {
  bool listed;
  uint8_t symbols[kMostSymbols];
  uint16_t counts[kMostSymbols];  // Of the symbols in the block.

  size_t Bytes(unsigned size) const { return listed ? size : 3; }
};

// By falling count; symbols that do not occur at the end.
Dictionary ListedDictionary(const Counts& counts, Range range) {
  Dictionary dictionary = {.listed = true, .symbols = {}, .counts = {}};
  for (unsigned s = range.low; s <= range.high; ++s) {
    if (counts[s] <= dictionary.counts[kMostSymbols - 1]) continue;
    unsigned place = kMostSymbols - 1;
    for (; place > 0 && dictionary.counts[place - 1] < counts[s]; --place) {
      dictionary.symbols[place] = dictionary.symbols[place - 1];
      dictionary.counts[place] = dictionary.counts[place - 1];
    }
    dictionary.symbols[place] = static_cast<uint8_t>(s);
    dictionary.counts[place] = counts[s];
  }
  return dictionary;
}

uint8_t CommonestSymbol(const Counts& counts, Range range) {
  return static_cast<uint8_t>(std::max_element(counts + range.low, counts + range.high + 1) -
                              counts);
}

// From the commonest symbol to whichever neighbour of the interval is commoner.
Dictionary IntervalDictionary(const Counts& counts, uint8_t commonest) {
  Dictionary dictionary = {.listed = false, .symbols = {}, .counts = {}};
  uint8_t low = commonest;
  uint8_t high = commonest;
  uint8_t symbol = commonest;
  for (unsigned i = 0; i < kMostSymbols; ++i) {
    dictionary.symbols[i] = symbol;
    dictionary.counts[i] = counts[symbol];
    const auto below = static_cast<uint8_t>(low - 1);
    const auto above = static_cast<uint8_t>(high + 1);
    symbol = counts[below] >= counts[above] ? (low = below) : (high = above);
  }
  return dictionary;
}

struct Choice {
  size_t bytes;  // Of the block, with its shape.
  size_t price;  // Its bytes, and what the levels cost a decoder.
  unsigned wide;
  unsigned narrow;
  bool listed;
};

size_t FirstLevelBytes(size_t n, unsigned planes) { return planes * ((n + 63) / 64 * 8); }
size_t NextLevelBytes(size_t n, unsigned planes) {
  return planes * (n / 64 * 8 + (n % 64 + 7) / 8);
}

// The better of `best` and the shapes with this dictionary.
void TryShapes(const Dictionary& dictionary, size_t n, Choice& best) {
  size_t wide_bytes = 1 + 2;
  size_t wide_escapes = n;
  size_t wide_codes = 0;  // Behind the first level.
  for (unsigned wide = 0; wide <= kMostWide; ++wide) {
    size_t bytes = wide_bytes;
    size_t escapes = wide_escapes;
    size_t codes = wide_codes;
    for (unsigned narrow = 0;; ++narrow) {
      const unsigned size = 3 * wide + narrow;
      if (size != 0) {
        const size_t all = bytes + dictionary.Bytes(size) + escapes;
        const size_t price = all + kLevelPrice * (wide + narrow) + codes / kCodesOfByte;
        if (price < best.price) best = {all, price, wide, narrow, dictionary.listed};
      }
      if (size == kMostSymbols || escapes == 0 || bytes >= best.price) break;
      codes += size == 0 ? 0 : escapes;
      bytes += size == 0 ? FirstLevelBytes(n, 1) : NextLevelBytes(escapes, 1);
      escapes -= dictionary.counts[size];
    }
    if (wide == kMostWide) return;
    wide_codes += wide == 0 ? 0 : wide_escapes;
    wide_bytes += wide == 0 ? FirstLevelBytes(n, 2) : NextLevelBytes(wide_escapes, 2);
    for (unsigned i = 3 * wide; i < 3 * wide + 3; ++i) wide_escapes -= dictionary.counts[i];
  }
}

// The shape to write a block of these symbols in; raw has neither wide nor narrow levels.
// `roughly`: a list is tried only where the interval does badly.
Choice Choose(const Counts& counts, Range range, size_t n, bool roughly) {
  const uint8_t commonest = CommonestSymbol(counts, range);
  if (counts[commonest] == n) return {2, 2, 0, 0, false};
  Choice best = {n + 1, n + 1, 0, 0, false};
  const Dictionary interval = IntervalDictionary(counts, commonest);
  TryShapes(interval, n, best);
  size_t outside = n;
  for (const size_t count : interval.counts) outside -= count;
  if (!roughly || outside > n / 64) TryShapes(ListedDictionary(counts, range), n, best);
  return best;
}

// How often each symbol occurs in each unit of a plane.
class Tally {
 public:
  Tally(const uint8_t* symbols, size_t n)
      : n_(n), parts_((n + kUnit - 1) / kUnit), counts_(256 * parts_) {
    for (size_t p = 0; p < parts_; ++p) {
      Count(symbols + p * kUnit, std::min(kUnit, n - p * kUnit), &counts_[256 * p]);
    }
    FindRange();
  }

  size_t parts() const { return parts_; }
  Range range() const { return range_; }

  // Of `units` units from the `part`-th on, as far as there are any.
  void Sum(size_t part, size_t units, Counts& counts) const {
    std::memset(counts, 0, sizeof counts);
    for (size_t p = part; p < std::min(parts_, part + units); ++p) {
      for (unsigned s = range_.low; s <= range_.high; ++s) {
        counts[s] = static_cast<uint16_t>(counts[s] + counts_[256 * p + s]);
      }
    }
  }
  size_t Symbols(size_t part, size_t units) const {
    return std::min(n_, (part + units) * kUnit) - part * kUnit;
  }

 private:
  // In four counts each, because an increment waits for the last one of the same count.
  static void Count(const uint8_t* symbols, size_t n, uint16_t* counts) {
    Counts of[4] = {};
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
      for (size_t k = 0; k < 4; ++k) ++of[k][symbols[i + k]];
    }
    for (; i < n; ++i) ++of[0][symbols[i]];
    for (size_t s = 0; s < 256; ++s) {
      counts[s] = static_cast<uint16_t>(of[0][s] + of[1][s] + of[2][s] + of[3][s]);
    }
  }

  void FindRange() {
    uint16_t any[256] = {};
    for (size_t p = 0; p < parts_; ++p) {
      for (size_t s = 0; s < 256; ++s) any[s] |= counts_[256 * p + s];
    }
    while (any[range_.low] == 0) ++range_.low;
    while (any[range_.high] == 0) --range_.high;
  }

  size_t n_;
  size_t parts_;
  Range range_ = {0, 255};
  std::vector<uint16_t> counts_;
};

// The size of block that costs least, in units.
size_t ChooseUnits(const Tally& tally) {
  size_t best_price = SIZE_MAX;
  size_t best = 1;
  for (size_t units = 1; units <= std::min(tally.parts(), kMostUnits); ++units) {
    size_t price = 0;
    for (size_t part = 0; part < tally.parts() && price < best_price; part += units) {
      Counts block;
      tally.Sum(part, units, block);
      price += Choose(block, tally.range(), tally.Symbols(part, units), true).price;
    }
    if (price < best_price) {
      best_price = price;
      best = units;
    }
  }
  return best;
}

constexpr uint64_t kEach = 0x0101010101010101;

// Bit 7 of each of eight bytes that is equal to that of `others`; all other bits are zero.
uint64_t Equal(uint64_t bytes, uint64_t others) {
  constexpr uint64_t kLow7 = 0x7f * kEach;
  const uint64_t differ = bytes ^ others;
  return ~(((differ & kLow7) + kLow7) | differ | kLow7);
}

uint64_t LoadEight(const uint8_t* at) {
  uint64_t bytes;
  std::memcpy(&bytes, at, sizeof bytes);
  return bytes;
}

// The codes of 64 symbols at one level.
struct Word {
  uint64_t x;
  uint64_t y;
  uint64_t escapes;
};

// Bit i of equal[k]: the i-th code is the level's k-th symbol. A list may be filled up with symbols
// it has already: the first counts.
template <unsigned kSymbols>
Word WordOf(const uint64_t (&equal)[kSymbols]) {
  if constexpr (kSymbols == 1) {
    return {~equal[0], 0, ~equal[0]};
  } else {
    const uint64_t x = equal[1] & ~equal[0];
    const uint64_t y = equal[2] & ~equal[1] & ~equal[0];
    const uint64_t escapes = ~(equal[0] | x | y);
    return {x | escapes, y | escapes, escapes};
  }
}

// In the order of the first level, which eight symbols at a time fall into by themselves.
template <unsigned kSymbols>
Word FirstWord(const uint8_t* symbols, const uint64_t* level) {
  uint64_t equal[kSymbols] = {};
  for (unsigned t = 0; t < 8; ++t) {
    const uint64_t eight = LoadEight(symbols + 8 * t);
    for (unsigned k = 0; k < kSymbols; ++k) equal[k] |= Equal(eight, level[k]) >> (7 - t);
  }
  return WordOf(equal);
}

// In order.
template <unsigned kSymbols>
Word NextWord(const uint8_t* symbols, const uint64_t* level) {
  uint64_t equal[kSymbols] = {};
  for (unsigned t = 0; t < 8; ++t) {
    const uint64_t eight = LoadEight(symbols + 8 * t);
    for (unsigned k = 0; k < kSymbols; ++k) {
      // Bit 8 i goes to bit 56 + i.
      constexpr uint64_t kTogether = 0x0102040810204080;
      equal[k] |= (Equal(eight, level[k]) >> 7) * kTogether >> 56 << 8 * t;
    }
  }
  return WordOf(equal);
}

class BlockWriter {
 public:
  BlockWriter(const uint8_t* symbols, size_t n, uint8_t* out)
      : symbols_(symbols), n_(n), out_(out) {}

  // Answers the place behind the block.
  uint8_t* Write(const Counts& counts, Range range) {
    const Choice choice = Choose(counts, range, n_, false);
    const uint8_t commonest = CommonestSymbol(counts, range);
    if (counts[commonest] == n_) {
      Put(kConstantShape);
      Put(commonest);
    } else if (choice.wide + choice.narrow == 0) {
      Put(kRawShape);
      Put(symbols_, n_);
    } else {
      const Dictionary dictionary =
          choice.listed ? ListedDictionary(counts, range) : IntervalDictionary(counts, commonest);
      WriteLevels(choice, dictionary);
    }
    return out_;
  }

 private:
  void Put(uint8_t byte) { *out_++ = byte; }
  void Put(const void* bytes, size_t size) {
    std::memcpy(out_, bytes, size);
    out_ += size;
  }
  void PutShort(size_t value) {
    Put(static_cast<uint8_t>(value));
    Put(static_cast<uint8_t>(value >> 8));
  }

  void WriteLevels(const Choice& choice, const Dictionary& dictionary) {
    const unsigned size = 3 * choice.wide + choice.narrow;
    Put(static_cast<uint8_t>(choice.wide << 4 | choice.narrow |
                             (choice.listed ? kListedDictionary : 0)));
    WriteDictionary(dictionary, size);
    size_t escapes = n_;
    for (unsigned i = 0; i < (choice.wide > 0 ? 3u : 1u); ++i) escapes -= dictionary.counts[i];
    PutShort(escapes);
    uint64_t symbols[kMostSymbols];
    for (unsigned i = 0; i < size; ++i) symbols[i] = dictionary.symbols[i] * kEach;
    const uint64_t* next = symbols;
    for (unsigned level = 0; level < choice.wide + choice.narrow; ++level) {
      if (level < choice.wide) {
        level == 0 ? WriteFirstLevel<3>(next) : WriteNextLevel<3>(next);
        next += 3;
      } else {
        level == 0 ? WriteFirstLevel<1>(next) : WriteNextLevel<1>(next);
        ++next;
      }
    }
    Put(sequence_, count_);
  }

  void WriteDictionary(const Dictionary& dictionary, unsigned size) {
    if (dictionary.listed) {
      Put(dictionary.symbols, size);
      return;
    }
    unsigned up = 0;
    uint8_t high = dictionary.symbols[0];
    for (unsigned i = 0; i + 1 < size; ++i) {
      const bool is_above = dictionary.symbols[i + 1] == static_cast<uint8_t>(high + 1);
      if (is_above) ++high;
      up |= static_cast<unsigned>(is_above) << i;
    }
    Put(dictionary.symbols[0]);
    PutShort(up);
  }

  // Codes the block and leaves its escapes in the sequence.
  template <unsigned kSymbols>
  void WriteFirstLevel(const uint64_t* level) {
    size_t at = 0;
    for (; at + 64 <= n_; at += 64) WriteFirstWord<kSymbols>(symbols_ + at, level);
    if (at == n_) return;
    uint8_t last[64];  // Filled up with what has code 0.
    std::memcpy(last, level, 1);
    std::memset(last, last[0], sizeof last);
    std::memcpy(last, symbols_ + at, n_ - at);
    WriteFirstWord<kSymbols>(last, level);
  }

  template <unsigned kSymbols>
  void WriteFirstWord(const uint8_t* symbols, const uint64_t* level) {
    const Word word = FirstWord<kSymbols>(symbols, level);
    Put(&word.x, 8);
    if (kSymbols == 3) Put(&word.y, 8);
    for (uint64_t left = word.escapes; left != 0; left &= left - 1) {
      const auto place = static_cast<size_t>(__builtin_ctzll(left));
      sequence_[count_++] = symbols[place % 8 * 8 + place / 8];
    }
  }

  // Codes the sequence and leaves its escapes there.
  template <unsigned kSymbols>
  void WriteNextLevel(const uint64_t* level) {
    std::memset(sequence_ + count_, 0, 64);
    size_t kept = 0;
    for (size_t at = 0; at < count_; at += 64) {
      const size_t codes = std::min<size_t>(64, count_ - at);
      const uint64_t valid = ~uint64_t{0} >> (64 - codes);
      const Word word = NextWord<kSymbols>(sequence_ + at, level);
      const uint64_t x = word.x & valid;
      const uint64_t y = word.y & valid;
      Put(&x, (codes + 7) / 8);
      if (kSymbols == 3) Put(&y, (codes + 7) / 8);
      for (uint64_t left = word.escapes & valid; left != 0; left &= left - 1) {
        sequence_[kept++] = sequence_[at + static_cast<size_t>(__builtin_ctzll(left))];
      }
    }
    count_ = kept;
  }

  const uint8_t* symbols_;
  size_t n_;
  uint8_t* out_;
  uint8_t sequence_[kMostBlock + 64];
  size_t count_ = 0;
};

}  // namespace

size_t MostBytes(size_t n) { return n == 0 ? 0 : 1 + n + (n + kUnit - 1) / kUnit; }

size_t Encode(const uint8_t* symbols, size_t n, uint8_t* out) {
  if (n == 0) return 0;
  const Tally tally(symbols, n);
  const size_t units = ChooseUnits(tally);
  uint8_t* at = out;
  *at++ = static_cast<uint8_t>(units);
  for (size_t part = 0; part < tally.parts(); part += units) {
    Counts counts;
    tally.Sum(part, units, counts);
    BlockWriter writer(symbols + part * kUnit, tally.Symbols(part, units), at);
    at = writer.Write(counts, tally.range());
  }
  return static_cast<size_t>(at - out);
}

}  // namespace penstock::ops::chain
