#pragma once

#include <cstddef>
#include <cstdint>

// The constants of a coded plane, whose bytes io/pack.h lays out under "chain".
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
