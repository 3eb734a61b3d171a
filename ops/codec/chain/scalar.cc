#include <cstring>

#include "ops/codec/chain/chain.h"
#include "ops/codec/chain/format.h"

// Written to be read: symbol after symbol, level after level, as format.h has it.
namespace penstock::ops::chain {
namespace {

// What is left of the coded bytes.
struct Input {
  const uint8_t* at;
  const uint8_t* end;

  // The next `bytes`, or nullptr when so many are not there.
  const uint8_t* Take(size_t bytes) {
    if (static_cast<size_t>(end - at) < bytes) return nullptr;
    const uint8_t* const taken = at;
    at += bytes;
    return taken;
  }
};

bool Bit(const uint8_t* plane, size_t i) { return (plane[i / 8] >> i % 8 & 1) != 0; }

// Where the code of symbol `element` of a block lies in the first level.
size_t Place(size_t element) { return element / 64 * 64 + element % 8 * 8 + element / 8 % 8; }

// One level: the codes of a sequence.
class Level {
 public:
  Level(bool wide, size_t codes, bool first) : wide_(wide), codes_(codes) {
    words_ = first ? (codes + 63) / 64 : codes / 64;
    rest_bytes_ = first ? 0 : (codes % 64 + 7) / 8;
  }

  bool Read(Input& input) {
    const size_t planes = wide_ ? 2 : 1;
    bytes_ = input.Take(planes * (8 * words_ + rest_bytes_));
    return bytes_ != nullptr;
  }

  // 0, 1 or 2 for a symbol of the level.
  unsigned Code(size_t place) const {
    return static_cast<unsigned>(Bit(Word(place / 64, 0), place % 64)) |
           (wide_ ? static_cast<unsigned>(Bit(Word(place / 64, 1), place % 64)) << 1 : 0u);
  }
  unsigned escape() const { return wide_ ? 3 : 1; }

  // Of the bits behind the codes, those in the last bytes.
  bool SpareBitsAreZero() const {
    for (size_t i = codes_ % 64; i < 8 * rest_bytes_; ++i) {
      if (Code(codes_ / 64 * 64 + i) != 0) return false;
    }
    return true;
  }

 private:
  const uint8_t* Word(size_t word, size_t plane) const {
    const size_t planes = wide_ ? 2 : 1;
    return bytes_ + planes * 8 * word + plane * (word < words_ ? 8 : rest_bytes_);
  }

  bool wide_;
  size_t codes_;
  size_t words_;
  size_t rest_bytes_;
  const uint8_t* bytes_ = nullptr;
};

struct DecodedDictionary {
  unsigned size;
  uint8_t symbols[kMostSymbols];

  bool Read(Input& input, bool listed) {
    const uint8_t* const bytes = input.Take(listed ? size : 3);
    if (bytes == nullptr) return false;
    if (listed) {
      std::memcpy(symbols, bytes, size);
      return true;
    }
    const unsigned up = bytes[1] | static_cast<unsigned>(bytes[2]) << 8;
    if (up >> (size - 1) != 0) return false;
    unsigned low = bytes[0];
    unsigned high = bytes[0];
    symbols[0] = bytes[0];
    for (unsigned i = 0; i + 1 < size; ++i) {
      symbols[i + 1] = static_cast<uint8_t>((up >> i & 1) != 0 ? ++high : --low);
    }
    return true;
  }
};

// The symbols of the block that have no value yet, in the order of the escapes.
struct Open {
  size_t count = 0;
  uint16_t elements[kMostBlock];
};

bool FirstLevel(Input& input, bool wide, const uint8_t* dictionary, size_t n, uint8_t* symbols,
                Open& open) {
  Level level(wide, n, true);
  if (!level.Read(input)) return false;
  open.count = 0;
  for (size_t place = 0; place < (n + 63) / 64 * 64; ++place) {
    const size_t element = Place(place);  // The exchange of k and t is its own reverse.
    const unsigned code = level.Code(place);
    if (element >= n) {
      if (code != 0) return false;
    } else if (code == level.escape()) {
      open.elements[open.count++] = static_cast<uint16_t>(element);
    } else {
      symbols[element] = dictionary[code];
    }
  }
  return true;
}

bool NextLevel(Input& input, bool wide, const uint8_t* dictionary, uint8_t* symbols, Open& open) {
  Level level(wide, open.count, false);
  if (!level.Read(input) || !level.SpareBitsAreZero()) return false;
  size_t kept = 0;
  for (size_t i = 0; i < open.count; ++i) {
    const unsigned code = level.Code(i);
    if (code == level.escape()) {
      open.elements[kept++] = open.elements[i];
    } else {
      symbols[open.elements[i]] = dictionary[code];
    }
  }
  open.count = kept;
  return true;
}

bool DecodeLevels(Input& input, uint8_t shape, size_t n, uint8_t* symbols) {
  const unsigned wide = shape >> 4 & 7;
  const unsigned narrow = shape & 15;
  DecodedDictionary dictionary = {.size = 3 * wide + narrow, .symbols = {}};
  if (wide > kMostWide || dictionary.size == 0 || dictionary.size > kMostSymbols) return false;
  if (!dictionary.Read(input, (shape & kListedDictionary) != 0)) return false;
  const uint8_t* const escapes = input.Take(2);  // Of the first level.
  if (escapes == nullptr) return false;
  Open open;
  const uint8_t* next = dictionary.symbols;
  for (unsigned i = 0; i < wide + narrow; ++i) {
    const bool is_wide = i < wide;
    const bool good = i == 0 ? FirstLevel(input, is_wide, next, n, symbols, open)
                             : NextLevel(input, is_wide, next, symbols, open);
    if (!good) return false;
    if (i == 0 && open.count != (escapes[0] | static_cast<size_t>(escapes[1]) << 8)) return false;
    next += is_wide ? 3 : 1;
  }
  const uint8_t* const exceptions = input.Take(open.count);
  if (exceptions == nullptr) return false;
  for (size_t i = 0; i < open.count; ++i) symbols[open.elements[i]] = exceptions[i];
  return true;
}

bool DecodeBlock(Input& input, size_t n, uint8_t* symbols) {
  const uint8_t* const shape = input.Take(1);
  if (shape == nullptr) return false;
  if (*shape == kRawShape) {
    const uint8_t* const raw = input.Take(n);
    if (raw != nullptr) std::memcpy(symbols, raw, n);
    return raw != nullptr;
  }
  if (*shape == kConstantShape) {
    const uint8_t* const symbol = input.Take(1);
    if (symbol != nullptr) std::memset(symbols, *symbol, n);
    return symbol != nullptr;
  }
  return DecodeLevels(input, *shape, n, symbols);
}

// Calls `use` with the symbols of each block, their count and their place in the plane.
template <typename Use>
bool DecodePlane(const uint8_t* coded, size_t coded_bytes, size_t n, Use use) {
  if (n == 0) return coded_bytes == 0;
  Input input = {coded, coded + coded_bytes};
  const uint8_t* const units = input.Take(1);
  if (units == nullptr || *units == 0 || *units > kMostUnits) return false;
  const size_t block = *units * kUnit;
  uint8_t symbols[kMostBlock];
  for (size_t at = 0; at < n; at += block) {
    const size_t count = n - at < block ? n - at : block;
    if (!DecodeBlock(input, count, symbols)) return false;
    use(symbols, count, at);
  }
  return input.at == input.end;
}

bool DecodeSymbols(const uint8_t* coded, size_t coded_bytes, size_t n, uint8_t* symbols) {
  return DecodePlane(coded, coded_bytes, n, [&](const uint8_t* block, size_t count, size_t at) {
    std::memcpy(symbols + at, block, count);
  });
}

bool DecodeBf16(const uint8_t* coded, size_t coded_bytes, const uint8_t* rest, size_t n,
                uint16_t* out, bool /*streaming*/) {
  auto* const bytes = reinterpret_cast<uint8_t*>(out);
  return DecodePlane(coded, coded_bytes, n, [&](const uint8_t* block, size_t count, size_t at) {
    for (size_t i = 0; i < count; ++i) {
      const uint8_t r = rest[at + i];
      const auto value = static_cast<uint16_t>((r & 128) << 8 | block[i] << 7 | (r & 127));
      std::memcpy(bytes + 2 * (at + i), &value, sizeof value);
    }
  });
}

}  // namespace

const Kernels& Scalar() {
  static constexpr Kernels kKernels = {"scalar", DecodeSymbols, DecodeBf16};
  return kKernels;
}

}  // namespace penstock::ops::chain
