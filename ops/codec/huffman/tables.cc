#include "ops/codec/huffman/tables.h"

#include <algorithm>
#include <cstring>

#include "ops/codec/huffman/format.h"
#include "runtime/check.h"

namespace penstock::ops::huffman {
namespace {

using Contents = Tables::Contents;

uint16_t Entry(unsigned symbol, unsigned length) {
  return static_cast<uint16_t>(symbol | length << 8);
}

// Puts an entry wherever the low `length` bits of the index are `code`.
void Fill(uint16_t* table, size_t size, size_t code, unsigned length, uint16_t entry) {
  for (size_t i = code; i < size; i += size_t{1} << length) table[i] = entry;
}

void BuildHeadAndTail(const Code& code, Contents& contents) {
  uint8_t symbols[256];
  uint16_t codes[256];
  const size_t count = CanonicalOrder(code, symbols);
  StreamCodes(code, codes);
  unsigned blocks = 0;
  unsigned prefix_of_last = kIndices;
  for (size_t i = 0; i < count; ++i) {
    const uint8_t symbol = symbols[i];
    const unsigned length = code.lengths[symbol];
    const uint16_t entry = Entry(symbol, length);
    if (length <= kIndexBits) {
      Fill(contents.head, kIndices, codes[symbol], length, entry);
      continue;
    }
    const unsigned prefix = codes[symbol] % kIndices;  // In this order equal prefixes follow.
    if (prefix != prefix_of_last) contents.head[prefix] = Entry(blocks++, 0);
    prefix_of_last = prefix;
    PENSTOCK_CHECK(blocks <= 128);
    Fill(contents.tail + ((blocks - 1) << kTailBits), 1u << kTailBits, codes[symbol] >> kIndexBits,
         length - kIndexBits, entry);
  }
}

uint64_t Run(const Contents& contents, unsigned index) {
  unsigned bits = 0;
  unsigned count = 0;
  uint64_t symbols = 0;
  while (count < kMostRunSymbols) {
    const uint16_t entry = contents.head[index >> bits];
    const unsigned length = entry >> 8;
    if (length == 0 || bits + length > kIndexBits) break;
    symbols |= static_cast<uint64_t>(entry & 0xffu) << (56 - 8 * count);
    bits += length;
    ++count;
  }
  return bits | count << 8 | symbols;
}

}  // namespace

Tables::Tables() : contents_(std::make_unique<Contents>()) {}
Tables::~Tables() = default;

void Tables::Build(const Code& code) {
  Contents& contents = *contents_;
  if (IsSingle(code)) {
    CanonicalOrder(code, &contents.single);
    contents.kind = Contents::Kind::kSingle;
    return;
  }
  BuildHeadAndTail(code, contents);
  for (unsigned i = 0; i < kIndices; ++i) contents.runs[i] = Run(contents, i);
  const unsigned longest = *std::max_element(code.lengths, code.lengths + 256);
  contents.kind = longest > kIndexBits ? Contents::Kind::kLong : Contents::Kind::kShort;
}

}  // namespace penstock::ops::huffman
