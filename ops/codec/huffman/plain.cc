#include <algorithm>
#include <cstring>
#include <vector>

#include "ops/codec/huffman/format.h"

namespace penstock::ops::huffman {
namespace {

struct Symbol {
  uint8_t value;
  uint8_t length;
};

// The symbol that each pattern of the next `limit` bits begins with.
std::vector<Symbol> LookupTable(const Code& code) {
  std::vector<Symbol> table(size_t{1} << code.limit);
  uint16_t codes[256];
  StreamCodes(code, codes);
  for (unsigned s = 0; s < 256; ++s) {
    if (code.lengths[s] == 0) continue;
    const size_t step = size_t{1} << code.lengths[s];
    for (size_t i = codes[s]; i < table.size(); i += step) {
      table[i] = {static_cast<uint8_t>(s), code.lengths[s]};
    }
  }
  return table;
}

bool DecodeStream(const std::vector<Symbol>& table, unsigned limit, const uint8_t* at,
                  const uint8_t* end, size_t n, uint8_t* symbols) {
  uint32_t bits = 0;
  unsigned held = 0;
  const uint32_t mask = (1u << limit) - 1;
  for (size_t i = n; i-- > 0;) {
    while (held < limit && at != end) {
      bits |= static_cast<uint32_t>(*at++) << held;
      held += 8;
    }
    const Symbol symbol = table[bits & mask];
    if (symbol.length > held) return false;
    bits >>= symbol.length;
    held -= symbol.length;
    symbols[i] = symbol.value;
  }
  return at == end && held < 8 && bits == 0;
}

}  // namespace

bool DecodePlainly(const Code& code, const uint8_t* coded, size_t coded_bytes, size_t n,
                   uint8_t* symbols) {
  if (n == 0) return coded_bytes == 0;
  if (IsSingle(code)) {
    uint8_t only[256];
    CanonicalOrder(code, only);
    std::memset(symbols, only[0], n);
    return coded_bytes == 0;
  }
  if (coded_bytes == 0) return false;
  if (coded[0] == kRawPlane) {
    if (coded_bytes - 1 != n) return false;
    std::memcpy(symbols, coded + 1, n);
    return true;
  }
  Streams streams;
  if (coded[0] != kCodedPlane || !ReadStreams(coded, coded_bytes, streams)) return false;
  const std::vector<Symbol> table = LookupTable(code);
  const Quarters quarters = QuartersOf(n);
  for (size_t s = 0; s < kStreams; ++s) {
    const size_t begin = quarters.begin[s];
    if (!DecodeStream(table, code.limit, coded + streams.begin[s], coded + streams.begin[s + 1],
                      quarters.begin[s + 1] - begin, symbols + begin)) {
      return false;
    }
  }
  return true;
}

}  // namespace penstock::ops::huffman
