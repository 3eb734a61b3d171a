#include "ops/codec/huffman/format.h"
#include "ops/codec/huffman/tables.h"

#define PENSTOCK_INLINE inline __attribute__((always_inline))

namespace penstock::ops::huffman {
namespace {

// clang-format off
#include "ops/codec/huffman/merge.inc.h"
// clang-format on

PENSTOCK_INLINE void Fence() {}  // It has no streaming stores.

PENSTOCK_INLINE uint64_t CountLeadingZeros(uint64_t value) {
  return static_cast<uint64_t>(__builtin_clzll(value));
}

PENSTOCK_INLINE uint64_t LowBits(uint64_t value) { return value % kIndices; }

// The number of turns is a constant, without which GCC 12 does not vectorise at -O2.
void MergeGroup(const uint8_t* __restrict symbols, const uint8_t* __restrict rest,
                uint16_t* __restrict out) {
  for (size_t i = 0; i < kGroup; ++i) out[i] = Element(symbols[i], rest[i]);
}

void Merge(const uint8_t* symbols, const uint8_t* rest, size_t n, uint16_t* out, bool) {
  size_t i = 0;
  for (; i + kGroup <= n; i += kGroup) MergeGroup(symbols + i, rest + i, out + i);
  for (; i < n; ++i) out[i] = Element(symbols[i], rest[i]);
}

// clang-format off
#include "ops/codec/huffman/streams.inc.h"
// clang-format on

constexpr Kernels kKernels = {"scalar", DecodeSymbols, DecodeBf16};

}  // namespace

const Kernels& Scalar() { return kKernels; }

}  // namespace penstock::ops::huffman

#undef PENSTOCK_INLINE
