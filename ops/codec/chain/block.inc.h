// Included into an unnamed namespace by the decoders of each instruction set: reading the head of a
// block and finding its levels. It expects
//   size_t CountEscapes(const uint8_t* level, bool wide, size_t words);
// for whole words of a level, and for each `Out` that DecodePlane is used with
//   bool DecodeBlock(const Block& block, size_t at, Scratch* scratch, const Out& out);
// which decodes a block whose first symbol is the plane's `at`-th; two of Scratch are there for it.
// False when the first level has not as many escapes as the block says.

constexpr unsigned kMostLevels = kMostSymbols;

// A block that has been checked: every byte of it is inside the coded bytes, and the levels belong
// together, except that the escapes of the first one were not counted.
struct Block {
  size_t n;  // Symbols.
  uint8_t shape;
  unsigned wide;    // Levels of two planes; they come first.
  unsigned levels;  // All.
  uint8_t symbols[kMostSymbols + 1];
  const uint8_t* planes[kMostLevels];
  size_t codes[kMostLevels + 1];  // Of each level; behind the last, the exceptions.
  const uint8_t* bytes;           // Raw: the symbols. Constant: the symbol. Levels: the exceptions.
  const uint8_t* end;
};

inline uint64_t LoadWord(const uint8_t* at) {
  uint64_t word;
  __builtin_memcpy(&word, at, sizeof word);
  return word;
}

// The first level's bits of the last word that belong to the first `n` of its 64 symbols.
inline uint64_t BitsOfSymbols(size_t n) {
  constexpr uint64_t kEach = 0x0101010101010101;
  if (n >= 64) return ~uint64_t{0};
  const uint64_t whole = kEach * ((uint64_t{1} << n / 8) - 1);
  return whole | (kEach & ((uint64_t{1} << 8 * (n % 8)) - 1)) << n / 8;
}

inline bool ReadDictionary(Block& block, const uint8_t* at, size_t bytes, unsigned size) {
  if ((block.shape & kListedDictionary) != 0) {
    if (bytes < size) return false;
    for (unsigned i = 0; i < size; ++i) block.symbols[i] = at[i];
    block.bytes = at + size;
    return true;
  }
  if (bytes < 3) return false;
  const unsigned up = at[1] | static_cast<unsigned>(at[2]) << 8;
  if (up >> (size - 1) != 0) return false;
  unsigned low = at[0];
  unsigned high = at[0];
  block.symbols[0] = at[0];
  for (unsigned i = 0; i + 1 < size; ++i) {
    const unsigned is_up = up >> i & 1;
    high += is_up;
    low -= 1 - is_up;
    block.symbols[i + 1] = static_cast<uint8_t>(is_up != 0 ? high : low);
  }
  block.bytes = at + 3;
  return true;
}

// Level `i`, not the first and of one word or less.
inline const uint8_t* FindShortLevel(Block& block, unsigned i, const uint8_t* at,
                                     const uint8_t* end) {
  const bool wide = i < block.wide;
  const size_t n = block.codes[i];
  const size_t bytes = (n + 7) / 8;
  if (static_cast<size_t>(end - at) < (wide ? 2 * bytes : bytes)) return nullptr;
  block.planes[i] = at;
  if (n == 0) {
    block.codes[i + 1] = 0;
    return at;
  }
  const uint64_t x = LoadWord(at);
  const uint64_t y = wide ? LoadWord(at + bytes) : x;
  const uint64_t codes = ~uint64_t{0} >> (64 - n);
  const uint64_t stored = ~uint64_t{0} >> (64 - 8 * bytes);
  if (((x | y) & stored & ~codes) != 0) return nullptr;
  block.codes[i + 1] = static_cast<size_t>(__builtin_popcountll(x & y & codes));
  return at + (wide ? 2 * bytes : bytes);
}

// The first level begins at `at`, and block.codes[1] is what the block says of it.
inline const uint8_t* FindFirstLevel(Block& block, const uint8_t* at, const uint8_t* end) {
  const bool wide = block.wide > 0;
  const size_t n = block.codes[0];
  const size_t bytes = (wide ? 16 : 8) * ((n + 63) / 64);
  if (static_cast<size_t>(end - at) < bytes) return nullptr;
  block.planes[0] = at;
  at += bytes;
  if (n % 64 != 0) {
    uint64_t codes = LoadWord(at - 8);
    if (wide) codes |= LoadWord(at - 16);
    if ((codes & ~BitsOfSymbols(n % 64)) != 0) return nullptr;
  }
  return at;
}

// Level `i`, not the first, begins at `at`: its length is known, and with it where the next begins.
inline const uint8_t* FindLevel(Block& block, unsigned i, const uint8_t* at, const uint8_t* end) {
  const bool wide = i < block.wide;
  const size_t planes = wide ? 2 : 1;
  const size_t n = block.codes[i];
  const size_t words = n / 64;
  const size_t rest = n % 64;
  const size_t rest_bytes = (rest + 7) / 8;
  if (static_cast<size_t>(end - at) < planes * (8 * words + rest_bytes)) return nullptr;
  block.planes[i] = at;
  size_t escapes = CountEscapes(at, wide, words);
  at += planes * 8 * words;
  if (rest != 0) {
    const uint64_t x = LoadWord(at);
    const uint64_t y = wide ? LoadWord(at + rest_bytes) : x;
    const uint64_t codes = (uint64_t{1} << rest) - 1;
    const uint64_t stored = ~uint64_t{0} >> (64 - 8 * rest_bytes);
    if (((x | y) & stored & ~codes) != 0) return nullptr;
    escapes += static_cast<size_t>(__builtin_popcountll(x & y & codes));
    at += planes * rest_bytes;
  }
  block.codes[i + 1] = escapes;
  return at;
}

// Reads the block of n symbols that begins at `at`. False when there is none.
inline bool ReadBlock(const uint8_t* at, const uint8_t* end, size_t n, Block& block) {
  if (at == end) return false;
  block.n = n;
  block.shape = *at++;
  block.levels = 0;
  if (block.shape == kRawShape || block.shape == kConstantShape) {
    const size_t bytes = block.shape == kRawShape ? n : 1;
    block.bytes = at;
    block.end = at + bytes;
    return static_cast<size_t>(end - at) >= bytes;
  }
  const unsigned narrow = block.shape & 15;
  block.wide = block.shape >> 4 & 7;
  const unsigned size = 3 * block.wide + narrow;
  if (block.wide > kMostWide || size == 0 || size > kMostSymbols) return false;
  if (!ReadDictionary(block, at, static_cast<size_t>(end - at), size)) return false;
  at = block.bytes;
  if (end - at < 2) return false;
  block.levels = block.wide + narrow;
  block.codes[0] = n;
  block.codes[1] = at[0] | static_cast<size_t>(at[1]) << 8;
  if (block.codes[1] > n) return false;
  at = FindFirstLevel(block, at + 2, end);
  for (unsigned i = 1; i < block.levels && at != nullptr; ++i) {
    at = block.codes[i] <= 64 ? FindShortLevel(block, i, at, end) : FindLevel(block, i, at, end);
  }
  if (at == nullptr) return false;
  const size_t exceptions = block.codes[block.levels];
  if (static_cast<size_t>(end - at) < exceptions) return false;
  block.bytes = at;
  block.end = at + exceptions;
  return true;
}

inline uint8_t Rotated(uint8_t symbol) { return static_cast<uint8_t>(symbol >> 1 | symbol << 7); }

template <typename Scratch, typename Out>
bool DecodePlane(const uint8_t* coded, size_t coded_bytes, size_t n, const Out& out) {
  if (n == 0) return coded_bytes == 0;
  const uint8_t* const end = coded + coded_bytes;
  if (coded_bytes == 0 || *coded == 0 || *coded > kMostUnits) return false;
  const size_t most = *coded * kUnit;
  Scratch scratch[2];
  Block block;
  block.end = coded + 1;
  for (size_t at = 0; at < n; at += most) {
    if (!ReadBlock(block.end, end, n - at < most ? n - at : most, block)) return false;
    if (!DecodeBlock(block, at, scratch, out)) return false;
  }
  return block.end == end;
}
