#include "ops/codec/huffman/format.h"

#include <algorithm>
#include <cstring>

namespace penstock::ops::huffman {
namespace {

uint32_t ReverseBits(uint32_t value, unsigned bits) {
  uint32_t reversed = 0;
  for (unsigned i = 0; i < bits; ++i) reversed |= (value >> i & 1u) << (bits - 1 - i);
  return reversed;
}

}  // namespace

Quarters QuartersOf(size_t n) {
  const size_t quarter = 32 * (n / 128 + (n % 128 != 0));
  Quarters quarters{};
  for (size_t s = 1; s < kStreams; ++s) {
    quarters.begin[s] = std::min(quarters.begin[s - 1] + quarter, n);
  }
  quarters.begin[kStreams] = n;
  return quarters;
}

bool ReadStreams(const uint8_t* coded, size_t coded_bytes, Streams& streams) {
  if (coded_bytes < kPlaneHeaderBytes) return false;
  streams.begin[0] = kPlaneHeaderBytes;
  for (size_t s = 0; s < kStreams; ++s) {
    uint32_t size;
    std::memcpy(&size, coded + 1 + s * sizeof(size), sizeof(size));
    if (size > coded_bytes - streams.begin[s]) return false;
    streams.begin[s + 1] = streams.begin[s] + size;
  }
  return streams.begin[kStreams] == coded_bytes;
}

bool IsSingle(const Code& code) {
  return std::count(code.lengths, code.lengths + 256, uint8_t{0}) == 255;
}

size_t CanonicalOrder(const Code& code, uint8_t symbols[256]) {
  size_t found = 0;
  for (unsigned length = 1; length <= code.limit; ++length) {
    for (unsigned s = 0; s < 256; ++s) {
      if (code.lengths[s] == length) symbols[found++] = static_cast<uint8_t>(s);
    }
  }
  return found;
}

void StreamCodes(const Code& code, uint16_t codes[256]) {
  uint8_t symbols[256];
  const size_t count = CanonicalOrder(code, symbols);
  std::memset(codes, 0, 256 * sizeof(codes[0]));
  uint32_t next = 0;
  for (size_t i = 0; i < count; ++i) {
    const unsigned length = code.lengths[symbols[i]];
    if (i > 0) next = (next + 1) << (length - code.lengths[symbols[i - 1]]);
    codes[symbols[i]] = static_cast<uint16_t>(ReverseBits(next, length));
  }
}

}  // namespace penstock::ops::huffman
