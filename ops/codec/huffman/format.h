#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/codec/huffman/huffman.h"

// The constants of a code and of a coded plane, whose bytes io/pack.h lays out under "huffman".
//
// The last symbol comes first because a decoder that looks up several symbols at a time then writes
// downwards: it stores its table's entry as it is, symbols in the high bytes, and the next store
// covers the low bytes. Upwards it would have to shift each entry, a seventh of its instructions.
//
// A quarter is whole groups of 32 symbols, so that the cache lines that bf16 elements are written
// to belong to one quarter each.
namespace penstock::ops::huffman {

inline constexpr size_t kStreams = 4;
inline constexpr uint8_t kRawPlane = 0;
inline constexpr uint8_t kCodedPlane = 1;
inline constexpr size_t kPlaneHeaderBytes = 1 + kStreams * sizeof(uint32_t);

// Where the quarters of n symbols begin; [kStreams] is n.
struct Quarters {
  size_t begin[kStreams + 1];
};
Quarters QuartersOf(size_t n);

// Where the streams of a coded plane begin, from the plane's first byte; [kStreams] is its end.
struct Streams {
  size_t begin[kStreams + 1];
};
// False unless the sizes of a plane of kCodedPlane add up to coded_bytes.
bool ReadStreams(const uint8_t* coded, size_t coded_bytes, Streams& streams);

// A code of one symbol has length 1 for it and no other.
bool IsSingle(const Code& code);
// The symbols of a code in the order in which they take codes. Answers how many.
size_t CanonicalOrder(const Code& code, uint8_t symbols[256]);
// The code of each symbol as it lies in a stream: its first bit is bit 0.
void StreamCodes(const Code& code, uint16_t codes[256]);

}  // namespace penstock::ops::huffman
