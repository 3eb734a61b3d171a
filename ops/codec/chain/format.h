#pragma once

#include <cstddef>
#include <cstdint>

// The bytes of a coded plane of n symbols. None for n = 0; otherwise
//
//   u8 units            1..16: the plane is cut into blocks of units * 1024 symbols, the last shorter
//   block...            one after another, nothing between or behind them
//
// A block of m symbols begins with
//
//   u8 shape            bits 0-3  narrow: levels of one plane, one symbol each
//                       bits 4-6  wide: levels of two planes, three symbols each; at most 4
//                       bit  7    how the dictionary is written
//
// Two shapes stand apart. 0x00, raw: the m symbols follow as they are. 0x70, constant: one byte
// follows, all m symbols. In any other shape the dictionary has d = 3 * wide + narrow <= 15
// symbols, and is written as
//
//   bit 7 clear         u8 s0, u16 up (little-endian): the dictionary is an interval that grows from
//                       s0; symbol i + 1 is the next above it where bit i of `up` is set and the
//                       next below it elsewhere, modulo 256. Bits d - 1 and above are zero.
//   bit 7 set           d bytes, the symbols
//
// Then u16, little-endian: the escapes of the first level. Behind it lie the levels, first the wide
// ones, then the narrow ones. Each takes the next three symbols of the dictionary, or the next one,
// and codes a sequence: the first all m symbols, any other the escapes of the level before, in
// order. A wide level has a two-bit code for each, its low bit in plane x and its high bit in plane
// y: 0, 1, 2 for the level's symbols, 3 for an escape. A narrow level has plane x only: 0 for its
// symbol, 1 for an escape. A plane is little-endian words of 64 codes, bit i of a word for the
// i-th; a wide level alternates them, x0 y0 x1 y1 ...
//
//   first level         ceil(m / 64) words of each plane. Bit 8 * k + t of word w belongs to symbol
//                       64 * w + 8 * t + k of the block; bits without a symbol are zero.
//   other levels        c codes, in order: c / 64 words of each plane, then the other c % 64 codes
//                       in ceil(c % 64 / 8) bytes of each plane; spare bits are zero.
//
// The length of a level is the number of escapes in the one before; only the second one's is
// written. Behind the levels, the escapes of the last one: one byte each, the symbol, in order.
//
// Why so. The order inside a word of the first level lets the two halves of a decoder meet: a word
// is a run of 64 symbols, hence one mask register and one 64-byte vector for AVX-512, and AVX2,
// which turns four words of four planes into bytes, gets eight symbols that are neighbours in each
// 64-bit lane and moves whole lanes only. The sizes of the levels are counted, because 2 bytes for
// each of a dozen levels would cost more than all that is won by a good choice of levels; but the
// first level is three quarters of all that would be counted, a tenth of AVX2's time.
//
// What the alternatives cost, in bytes stored for a byte of bf16 (weights in rows of 7168 with
// log-normal scales, a quarter of them heavy-tailed; the entropy of all exponents is 2.648 bits, so
// 0.6655 for one ideal code). The planes alone, in blocks of 4096 symbols:
//   five wide levels                 0.6667    two wide and five narrow levels   0.6664
//   one wide and eight narrow        0.6656    the best shape for each block     0.6652
// With the heads: a list of 15 symbols, the lengths of the levels and a count, 26 bytes, for five
// wide levels 0.6699; as here 0.6661 in blocks of 4096, 0.6664 of 8192, 0.6671 of 16384, and 0.6648
// of 7168, where each block is one row. Hence the size of the blocks is the encoder's choice; it
// takes 0.6658, where levels that cost a decoder more than they save are left out (encode.cc).
namespace penstock::ops::chain {

inline constexpr size_t kUnit = 1024;
inline constexpr size_t kMostUnits = 16;
inline constexpr size_t kMostBlock = kUnit * kMostUnits;
inline constexpr unsigned kMostWide = 4;
inline constexpr unsigned kMostSymbols = 15;  // Of a dictionary, and so of levels.

inline constexpr uint8_t kRawShape = 0x00;
inline constexpr uint8_t kConstantShape = 0x70;
inline constexpr uint8_t kListedDictionary = 0x80;

}  // namespace penstock::ops::chain
