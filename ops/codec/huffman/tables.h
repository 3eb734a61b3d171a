#pragma once

#include <cstdint>

#include "ops/codec/huffman/huffman.h"

namespace penstock::ops::huffman {

// Bits that one lookup sees. Twelve would fill the first cache.
inline constexpr unsigned kIndexBits = 11;
inline constexpr unsigned kIndices = 1u << kIndexBits;
inline constexpr unsigned kMostRunSymbols = 6;
inline constexpr unsigned kTailBits = kLongLimit - kIndexBits;

// A run: the symbols whose codes lie whole in the next kIndexBits, at most kMostRunSymbols.
//   byte 0 the bits they take, 1 their number, 7 the first symbol, 6 the second and so on.
// 0 where the next code is longer than that, which only codes of kLongLimit have.
//
// The next symbol alone is found in two steps. head[next kIndexBits] is the symbol | length << 8;
// for a longer code it is the number of a block of `tail`, length 0, and that block holds the same
// for each value of the kTailBits that follow. Such a prefix has two codes or more: 128 blocks.
struct Tables::Contents {
  enum class Kind : uint8_t {
    kNone,    // Build was not called.
    kSingle,  // Of one symbol, `single`.
    kShort,   // No code is longer than kIndexBits.
    kLong,
  };
  alignas(64) uint64_t runs[kIndices];
  alignas(64) uint16_t head[kIndices];
  uint16_t tail[128u << kTailBits];
  Kind kind;
  uint8_t single;
};

}  // namespace penstock::ops::huffman
