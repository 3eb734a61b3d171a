// The layout of format.h, byte by byte: bytes written by hand are read as it says, and bytes that it
// does not allow are refused, by every decoder of this machine.

#include <gtest/gtest.h>

#include "tests/ops/codec/chain/cases.h"

namespace penstock::ops::chain {
namespace {

void ExpectReads(const Bytes& coded, const Bytes& symbols) {
  for (const Kernels* kernels : KernelsHere()) {
    SCOPED_TRACE(kernels->name);
    const auto read = Symbols(*kernels, coded, symbols.size());
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(*read, symbols);
  }
}

void ExpectRefuses(const Bytes& coded, size_t n) {
  for (const Kernels* kernels : KernelsHere()) {
    SCOPED_TRACE(kernels->name);
    EXPECT_FALSE(Symbols(*kernels, coded, n).has_value());
    EXPECT_FALSE(Bf16(*kernels, coded, Bytes(n), false).has_value());
    EXPECT_FALSE(Bf16(*kernels, coded, Bytes(n), true).has_value());
  }
}

TEST(ChainFormat, Nothing) {
  ExpectReads({}, {});
  ExpectRefuses({1}, 0);
  ExpectRefuses({}, 1);
}

TEST(ChainFormat, RawAndConstantBlocks) {
  ExpectReads({1, 0x00, 7, 0, 255}, {7, 0, 255});
  ExpectReads({16, 0x70, 9}, {9, 9, 9, 9});
  ExpectRefuses({1, 0x00, 7, 0}, 3);
  ExpectRefuses({1, 0x00, 7, 0, 255, 1}, 3);
  ExpectRefuses({1, 0x70}, 3);
  ExpectRefuses({1, 0x70, 9, 9}, 3);
}

TEST(ChainFormat, SizeOfBlocks) {
  Bytes symbols(1024, 3);
  symbols.resize(2050, 4);
  symbols[2048] = symbols[2049] = 5;
  ExpectReads({1, 0x70, 3, 0x70, 4, 0x70, 5}, symbols);
  symbols.assign(2050, 3);
  symbols[2048] = 5;
  symbols[2049] = 6;
  ExpectReads({2, 0x70, 3, 0x00, 5, 6}, symbols);
  ExpectRefuses({0, 0x70, 3}, 10);
  ExpectRefuses({17, 0x70, 3}, 10);
  ExpectRefuses({1, 0x70, 3}, 1025);
  ExpectRefuses({1, 0x70, 3, 0x70, 3}, 1024);
}

// Symbol 1 is bit 8, symbol 8 is bit 1.
TEST(ChainFormat, OneNarrowLevel) {
  ExpectReads({1, 0x01, 50, 0, 0, 2, 0, 0x02, 0x01, 0, 0, 0, 0, 0, 0, 201, 202},
              {50, 202, 50, 50, 50, 50, 50, 50, 201});
}

// Symbols 0 to 3 are bits 0, 8, 16, 24: codes 1 2 3 0; the escape is the narrow level's symbol.
TEST(ChainFormat, WideThenNarrow) {
  const Bytes planes = {1, 0,                    // One escape.
                        1, 0, 1, 0, 0, 0, 0, 0,  // x
                        0, 1, 1, 0, 0, 0, 0, 0,  // y
                        0};
  Bytes coded = {1, 0x91, 10, 20, 30, 40};
  coded.insert(coded.end(), planes.begin(), planes.end());
  ExpectReads(coded, {20, 30, 40, 10});
  // An interval from 10: up to 11, down to 9, up to 12.
  coded = {1, 0x11, 10, 0x05, 0};
  coded.insert(coded.end(), planes.begin(), planes.end());
  ExpectReads(coded, {11, 9, 12, 10});
  // It wraps.
  coded[2] = 255;
  ExpectReads(coded, {0, 254, 1, 255});
}

// The second wide level has three codes, 0 1 3, in a byte of each plane; then one exception.
TEST(ChainFormat, TwoWideLevels) {
  const Bytes coded = {1,    0xa0, 1, 2, 3, 4, 5, 6,                          // Dictionary.
                       3,    0,                                               // Escapes.
                       1,    1,    1, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0,  // First level.
                       0x06, 0x04, 77};
  ExpectReads(coded, {4, 5, 77, 1});
}

TEST(ChainFormat, Refusals) {
  const Bytes good = {1, 0x01, 50, 0, 0, 2, 0, 0x02, 0x01, 0, 0, 0, 0, 0, 0, 201, 202};
  const auto with = [&](size_t at, uint8_t byte) {
    Bytes bad = good;
    bad[at] = byte;
    return bad;
  };
  ExpectRefuses(with(3, 1), 9);     // A direction that no symbol has.
  ExpectRefuses(with(4, 1), 9);     // Another.
  ExpectRefuses(with(7, 0x06), 9);  // A bit without a symbol.
  ExpectRefuses(with(8, 0x03), 9);  // Symbol 9 is the first of them.
  ExpectRefuses(with(14, 0x80), 9);
  ExpectRefuses(with(7, 0x03), 9);  // An escape too many.
  ExpectRefuses(with(7, 0x00), 9);  // One too few.
  ExpectRefuses(with(5, 1), 9);     // Fewer escapes than there are.
  ExpectRefuses(with(5, 3), 9);     // More.
  ExpectRefuses(with(6, 1), 9);     // More than symbols.
  ExpectRefuses(with(1, 0x80), 9);  // No level.
  ExpectRefuses(with(1, 0x50), 9);  // Five wide levels.
  ExpectRefuses(with(1, 0x60), 9);
  ExpectRefuses(with(1, 0xf0), 9);
  ExpectRefuses(with(1, 0x71), 9);
  ExpectRefuses(with(1, 0x44), 9);  // Sixteen symbols.
  ExpectRefuses(with(1, 0x1d), 9);
  ExpectRefuses(good, 8);
  ExpectRefuses(good, 65);
  for (size_t size = 0; size < good.size(); ++size) {
    ExpectRefuses(Bytes(good.begin(), good.begin() + static_cast<ptrdiff_t>(size)), 9);
  }
  // As many escapes as exceptions are there, but not as many as the level has.
  Bytes fewer = with(5, 1);
  fewer.pop_back();
  ExpectRefuses(fewer, 9);
  Bytes more = with(5, 3);
  more.push_back(203);
  ExpectRefuses(more, 9);
  // A spare bit of a level behind the first.
  ExpectRefuses({1, 0x91, 10, 20, 30, 40, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 2},
                4);
  ExpectRefuses({1, 0xa0, 1, 2, 3, 4, 5, 6, 3, 0, 1, 1,    1,    0, 0,
                 0, 0,    0, 1, 1, 1, 0, 0, 0, 0, 0, 0x06, 0x0c, 77},
                4);
}

}  // namespace
}  // namespace penstock::ops::chain
