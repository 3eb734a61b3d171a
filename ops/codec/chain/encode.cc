#include <algorithm>
#include <cstring>
#include <vector>

#include "ops/codec/chain/chain.h"
#include "ops/codec/chain/format.h"

namespace penstock::ops::chain {
namespace {

// A level costs a decoder time even when it is nearly empty: it has to save so many bytes. At 0
// AVX-512 decodes from the cache a tenth slower than at 4, for 0.0007 of the size; at 2 the loss is
// 0.0002.
constexpr size_t kLevelPrice = 2;

using Counts = uint32_t[256];

struct Dictionary {
  bool listed;
  uint8_t symbols[kMostSymbols];
  uint32_t counts[kMostSymbols];  // Of the symbols in the block.

  size_t Bytes(unsigned size) const { return listed ? size : 3; }
};

// By falling count; symbols that do not occur at the end.
Dictionary ListedDictionary(const Counts& counts) {
  uint8_t order[256];
  unsigned size = 0;
  for (unsigned s = 0; s < 256; ++s) {
    if (counts[s] != 0) order[size++] = static_cast<uint8_t>(s);
  }
  const unsigned kept = std::min(size, kMostSymbols);
  std::partial_sort(order, order + kept, order + size, [&](uint8_t a, uint8_t b) {
    return counts[a] != counts[b] ? counts[a] > counts[b] : a < b;
  });
  Dictionary dictionary = {.listed = true, .symbols = {}, .counts = {}};
  for (unsigned i = 0; i < kept; ++i) {
    dictionary.symbols[i] = order[i];
    dictionary.counts[i] = counts[order[i]];
  }
  return dictionary;
}

// From the commonest symbol to whichever neighbour of the interval is commoner.
Dictionary IntervalDictionary(const Counts& counts) {
  Dictionary dictionary = {.listed = false, .symbols = {}, .counts = {}};
  auto low = static_cast<uint8_t>(std::max_element(counts, counts + 256) - counts);
  uint8_t high = low;
  uint8_t symbol = low;
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
  size_t wide_bytes = 1;
  size_t wide_escapes = n;
  for (unsigned wide = 0; wide <= kMostWide; ++wide) {
    size_t bytes = wide_bytes;
    size_t escapes = wide_escapes;
    for (unsigned narrow = 0;; ++narrow) {
      const unsigned size = 3 * wide + narrow;
      if (size != 0) {
        const size_t all = bytes + dictionary.Bytes(size) + escapes;
        const size_t price = all + kLevelPrice * (wide + narrow);
        if (price < best.price) best = {all, price, wide, narrow, dictionary.listed};
      }
      if (size == kMostSymbols || escapes == 0) break;
      bytes += size == 0 ? FirstLevelBytes(n, 1) : NextLevelBytes(escapes, 1);
      escapes -= dictionary.counts[size];
    }
    if (wide == kMostWide) return;
    wide_bytes += wide == 0 ? FirstLevelBytes(n, 2) : NextLevelBytes(wide_escapes, 2);
    for (unsigned i = 3 * wide; i < 3 * wide + 3; ++i) wide_escapes -= dictionary.counts[i];
  }
}

bool IsConstant(const Counts& counts, size_t n) {
  return *std::max_element(counts, counts + 256) == n;
}

// The shape to write a block of these symbols in; raw has neither wide nor narrow levels.
Choice Choose(const Counts& counts, size_t n) {
  if (IsConstant(counts, n)) return {2, 2, 0, 0, false};
  Choice best = {n + 1, n + 1, 0, 0, false};
  TryShapes(IntervalDictionary(counts), n, best);
  TryShapes(ListedDictionary(counts), n, best);
  return best;
}

void Count(const uint8_t* symbols, size_t n, Counts& counts) {
  for (size_t i = 0; i < n; ++i) ++counts[symbols[i]];
}

// The size of block that takes the fewest bytes, in units.
size_t ChooseUnits(const uint8_t* symbols, size_t n) {
  const size_t parts = (n + kUnit - 1) / kUnit;
  std::vector<uint32_t> counts(256 * parts);
  for (size_t i = 0; i < n; ++i) ++counts[i / kUnit * 256 + symbols[i]];
  size_t best_price = SIZE_MAX;
  size_t best = 1;
  for (size_t units = 1; units <= std::min(parts, kMostUnits); ++units) {
    size_t price = 0;
    for (size_t part = 0; part < parts; part += units) {
      Counts block = {};
      const size_t end = std::min(parts, part + units);
      for (size_t p = part; p < end; ++p) {
        for (size_t s = 0; s < 256; ++s) block[s] += counts[256 * p + s];
      }
      price += Choose(block, std::min(n, end * kUnit) - part * kUnit).price;
    }
    if (price < best_price) {
      best_price = price;
      best = units;
    }
  }
  return best;
}

class BlockWriter {
 public:
  BlockWriter(const uint8_t* symbols, size_t n, uint8_t* out)
      : symbols_(symbols), n_(n), out_(out) {}

  // Answers the place behind the block.
  uint8_t* Write() {
    Counts counts = {};
    Count(symbols_, n_, counts);
    const Choice choice = Choose(counts, n_);
    if (IsConstant(counts, n_)) {
      Put(kConstantShape);
      Put(symbols_[0]);
    } else if (choice.wide + choice.narrow == 0) {
      Put(kRawShape);
      Put(symbols_, n_);
    } else {
      const Dictionary dictionary =
          choice.listed ? ListedDictionary(counts) : IntervalDictionary(counts);
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

  void WriteLevels(const Choice& choice, const Dictionary& dictionary) {
    const unsigned size = 3 * choice.wide + choice.narrow;
    Put(static_cast<uint8_t>(choice.wide << 4 | choice.narrow |
                             (choice.listed ? kListedDictionary : 0)));
    WriteDictionary(dictionary, size);
    std::memset(ranks_, static_cast<int>(size), sizeof ranks_);
    for (unsigned i = size; i-- > 0;) ranks_[dictionary.symbols[i]] = static_cast<uint8_t>(i);
    StartSequence();
    unsigned next = 0;
    for (unsigned level = 0; level < choice.wide + choice.narrow; ++level) {
      const unsigned planes = level < choice.wide ? 2 : 1;
      WriteLevel(planes, next, level == 0);
      next += planes == 2 ? 3 : 1;
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
    Put(static_cast<uint8_t>(up));
    Put(static_cast<uint8_t>(up >> 8));
  }

  // The block in the order of the first level, whole words; what fills the last has code 0.
  void StartSequence() {
    count_ = (n_ + 63) / 64 * 64;
    uint8_t zero = 0;
    while (ranks_[zero] != 0) ++zero;
    for (size_t place = 0; place < count_; ++place) {
      const size_t element = place / 64 * 64 + place % 8 * 8 + place / 8 % 8;
      sequence_[place] = element < n_ ? symbols_[element] : zero;
    }
  }

  // Codes the sequence and leaves its escapes there.
  void WriteLevel(unsigned planes, unsigned first_rank, bool whole_words) {
    const unsigned escape = planes == 2 ? 3 : 1;
    size_t kept = 0;
    for (size_t at = 0; at < count_; at += 64) {
      const size_t codes = std::min<size_t>(64, count_ - at);
      uint64_t x = 0;
      uint64_t y = 0;
      for (size_t i = 0; i < codes; ++i) {
        const uint8_t symbol = sequence_[at + i];
        const uint64_t code = std::min(ranks_[symbol] - first_rank, escape);
        x |= (code & 1) << i;
        y |= (code >> 1) << i;
        sequence_[kept] = symbol;
        kept += code == escape;
      }
      const size_t bytes = whole_words ? 8 : (codes + 7) / 8;
      Put(&x, bytes);
      if (planes == 2) Put(&y, bytes);
    }
    count_ = kept;
  }

  const uint8_t* symbols_;
  size_t n_;
  uint8_t* out_;
  uint8_t ranks_[256];  // In the dictionary; its size for a symbol that is not in it.
  uint8_t sequence_[kMostBlock];
  size_t count_ = 0;
};

}  // namespace

size_t MostBytes(size_t n) { return n == 0 ? 0 : 1 + n + (n + kUnit - 1) / kUnit; }

size_t Encode(const uint8_t* symbols, size_t n, uint8_t* out) {
  if (n == 0) return 0;
  const size_t units = ChooseUnits(symbols, n);
  uint8_t* at = out;
  *at++ = static_cast<uint8_t>(units);
  for (size_t done = 0; done < n; done += units * kUnit) {
    at = BlockWriter(symbols + done, std::min(units * kUnit, n - done), at).Write();
  }
  return static_cast<size_t>(at - out);
}

}  // namespace penstock::ops::chain
