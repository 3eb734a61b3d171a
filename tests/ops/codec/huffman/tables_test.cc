#include "ops/codec/huffman/tables.h"

#include "tests/ops/codec/huffman/planes.h"

namespace penstock::ops::huffman {
namespace {

using Contents = Tables::Contents;

TEST(HuffmanTables, Kinds) {
  Draw draw(1);
  Tables tables;
  EXPECT_EQ(tables.contents().kind, Contents::Kind::kNone);
  tables.Build(CodeOf(Bytes(10, 33), kLimit));
  EXPECT_EQ(tables.contents().kind, Contents::Kind::kSingle);
  EXPECT_EQ(tables.contents().single, 33);
  tables.Build(CodeOf(Fibonacci(draw, 20), kLongLimit));
  EXPECT_EQ(tables.contents().kind, Contents::Kind::kLong);
  tables.Build(CodeOf(Fibonacci(draw, 20), kLimit));
  EXPECT_EQ(tables.contents().kind, Contents::Kind::kShort);
}

// The symbol that `bits` begins with, by trying every code.
void ExpectHead(const Code& code, const Contents& contents, uint32_t bits) {
  uint16_t codes[256];
  StreamCodes(code, codes);
  uint16_t entry = contents.head[bits % kIndices];
  if (entry < 256) entry = contents.tail[entry << kTailBits | bits >> kIndexBits];
  const unsigned symbol = entry & 0xff;
  ASSERT_EQ(entry >> 8, code.lengths[symbol]) << bits;
  ASSERT_EQ(bits & ((1u << code.lengths[symbol]) - 1), codes[symbol]) << bits;
}

TEST(HuffmanTables, FindTheSymbolOfEveryPattern) {
  Draw draw(2);
  Tables tables;
  Counts steep;  // Many symbols beyond the first step.
  for (unsigned s = 0; s < 256; ++s) steep.of[s] = s < 250 ? 1 : uint64_t{1} << (2 * s - 490);
  for (const Code& code : {CodeOf(Fibonacci(draw, 20), kLongLimit),
                           CodeOf(Fibonacci(draw, 20), kLimit), MakeCode(steep.of, kLongLimit)}) {
    tables.Build(code);
    for (uint32_t bits = 0; bits < 1u << kLongLimit; ++bits) {
      ExpectHead(code, tables.contents(), bits);
    }
  }
}

TEST(HuffmanTables, ABuildLeavesNothingOfTheOneBefore) {
  Draw draw(3);
  const Code code = CodeOf(Falling(draw, 10000, 0.6), kLimit);
  Tables used;
  used.Build(CodeOf(Fibonacci(draw, 20), kLongLimit));
  used.Build(code);
  Tables fresh;
  fresh.Build(code);
  EXPECT_EQ(std::memcmp(used.contents().runs, fresh.contents().runs, sizeof(Contents::runs)), 0);
  EXPECT_EQ(std::memcmp(used.contents().head, fresh.contents().head, sizeof(Contents::head)), 0);
}

}  // namespace
}  // namespace penstock::ops::huffman
