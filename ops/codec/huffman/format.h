#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/codec/huffman/huffman.h"

// The bytes of a code and of a coded plane, for whoever writes another decoder. Numbers are
// little-endian, bit i of a run of bits is bit i % 8 of byte i / 8, and spare bits are zero.
//
// Code of a stripe (WriteCode).
//   One symbol: one byte, the symbol.
//   Two or more:
//     u8   first  the smallest symbol that occurs
//     u8   last   the largest, > first
//     bits        one for each symbol of first..last, set if it occurs: ceil((last-first+1) / 8)
//                 bytes; the bits of first and last are set
//     nibbles     length - 1 of each symbol that occurs, ascending, the low nibble first:
//                 ceil(symbols / 2) bytes
//   Lengths are 1..limit and the sum of 2^-length is exactly 1. Nothing follows.
//
// Prefix codes. Symbols in the order of (length, symbol) take consecutive codes: the first is all
// zeros, each next one is (code + 1) << (its length - the length before). A code enters its stream
// from the most significant of its bits to the least.
//
// Coded plane of n symbols (Encode).
//   n = 0, or a code of one symbol: no bytes.
//   Otherwise
//     u8   mode   0: n bytes follow, the symbols as they are; 1: coded
//   and if coded
//     u32  bytes of stream 0, 1, 2 and 3; they add up to what follows
//     the four streams
//   Stream s holds the symbols of quarter s, the last one first: those from s * q up to (s + 1) * q
//   as far as there are so many, q = 32 * ceil(n / 128). It has ceil(bits / 8) bytes; no symbols,
//   no bytes.
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
