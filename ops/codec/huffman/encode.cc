#include <algorithm>
#include <cstring>

#include "ops/codec/huffman/format.h"
#include "runtime/check.h"

namespace penstock::ops::huffman {
namespace {

// Bits that n symbols take. All of them must have a length.
size_t BitsOf(const Code& code, const uint8_t* symbols, size_t n) {
  uint64_t counts[4][256] =
      {};  // Four, so that one symbol again and again does not wait for itself.
  for (size_t i = 0; i < n; ++i) ++counts[i % 4][symbols[i]];
  size_t bits = 0;
  for (unsigned s = 0; s < 256; ++s) {
    const uint64_t count = counts[0][s] + counts[1][s] + counts[2][s] + counts[3][s];
    PENSTOCK_CHECK(count == 0 || code.lengths[s] != 0);
    bits += count * code.lengths[s];
  }
  return bits;
}

// What is written for one symbol: its code in the low half, its length in the high one.
struct Words {
  uint32_t of[256];
};
Words WordsOf(const Code& code) {
  uint16_t codes[256];
  StreamCodes(code, codes);
  Words words{};
  for (unsigned s = 0; s < 256; ++s) {
    words.of[s] = codes[s] | static_cast<uint32_t>(code.lengths[s]) << 16;
  }
  return words;
}

void WriteStream(const Words& words, const uint8_t* symbols, size_t n, uint8_t* out,
                 const uint8_t* end) {
  uint64_t bits = 0;
  unsigned held = 0;
  for (size_t i = n; i-- > 0;) {
    const uint32_t word = words.of[symbols[i]];
    bits |= static_cast<uint64_t>(word & 0xffffu) << held;
    held += word >> 16;
    if (held < 32) continue;
    const auto low = static_cast<uint32_t>(bits);
    std::memcpy(out, &low, sizeof(low));
    out += sizeof(low);
    bits >>= 32;
    held -= 32;
  }
  for (; out != end; bits >>= 8) *out++ = static_cast<uint8_t>(bits);
}

}  // namespace

size_t MostBytes(size_t n) { return n + 1; }

size_t Encode(const Code& code, const uint8_t* symbols, size_t n, uint8_t* out) {
  const Quarters quarters = QuartersOf(n);
  size_t sizes[kStreams];
  size_t total = kPlaneHeaderBytes;
  for (size_t s = 0; s < kStreams; ++s) {
    const size_t begin = quarters.begin[s];
    sizes[s] = (BitsOf(code, symbols + begin, quarters.begin[s + 1] - begin) + 7) / 8;
    total += sizes[s];
  }
  if (n == 0 || IsSingle(code)) return 0;
  if (total > n || n > UINT32_MAX) {
    out[0] = kRawPlane;
    std::memcpy(out + 1, symbols, n);
    return n + 1;
  }
  out[0] = kCodedPlane;
  const Words words = WordsOf(code);
  uint8_t* at = out + kPlaneHeaderBytes;
  for (size_t s = 0; s < kStreams; ++s) {
    const auto size = static_cast<uint32_t>(sizes[s]);
    std::memcpy(out + 1 + s * sizeof(size), &size, sizeof(size));
    const size_t begin = quarters.begin[s];
    WriteStream(words, symbols + begin, quarters.begin[s + 1] - begin, at, at + size);
    at += size;
  }
  return total;
}

}  // namespace penstock::ops::huffman
