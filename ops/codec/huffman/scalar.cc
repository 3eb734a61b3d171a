#include "ops/codec/huffman/format.h"
#include "ops/codec/huffman/tables.h"

#define PENSTOCK_INLINE inline __attribute__((always_inline))

namespace penstock::ops::huffman {
namespace {

constexpr size_t kGroup = 32;

struct Fence {
  explicit Fence(bool) {}
};

PENSTOCK_INLINE uint64_t CountLeadingZeros(uint64_t value) {
  return static_cast<uint64_t>(__builtin_clzll(value));
}

PENSTOCK_INLINE uint64_t LowBits(uint64_t value) { return value % kIndices; }

// out[i] = sign << 15 | symbol << 7 | mantissa.
void Merge(const uint8_t* symbols, const uint8_t* rest, size_t n, uint16_t* out, bool) {
  for (size_t i = 0; i < n; ++i) {
    out[i] = static_cast<uint16_t>((rest[i] & 0x80u) << 8 | symbols[i] << 7 | (rest[i] & 0x7fu));
  }
}

// clang-format off
#include "ops/codec/huffman/streams.inc.h"
// clang-format on

constexpr Kernels kKernels = {"scalar", DecodeSymbols, DecodeBf16};

}  // namespace

const Kernels& Scalar() { return kKernels; }

}  // namespace penstock::ops::huffman
