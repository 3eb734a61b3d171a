#include <algorithm>

#include "tests/ops/codec/huffman/planes.h"

namespace penstock::ops::huffman {
namespace {

std::string KernelsName(const ::testing::TestParamInfo<const Kernels*>& info) {
  return info.param->name;
}

class HuffmanKernels : public ::testing::TestWithParam<const Kernels*> {};
INSTANTIATE_TEST_SUITE_P(Isa, HuffmanKernels, ::testing::ValuesIn(KernelsHere()), KernelsName);

uint16_t Element(uint8_t symbol, uint8_t rest) {
  return static_cast<uint16_t>((rest & 0x80u) << 8 | symbol << 7 | (rest & 0x7fu));
}

// Everything a kernel does with a plane, compared with the plain decoder: the same answer, the same
// symbols, no access outside. Answers whether the plane was accepted.
bool CheckPlane(const Kernels& kernels, const Code& code, const Bytes& coded, const Bytes& rest) {
  const size_t n = rest.size();
  Tables tables;
  tables.Build(code);
  const Fenced input(coded);
  const Fenced rests(rest);
  Bytes want(n);
  const bool good = DecodePlainly(code, input.data(), coded.size(), n, want.data());

  Guarded<uint8_t> symbols(n, 1);
  EXPECT_EQ(kernels.symbols(tables.contents(), input.data(), coded.size(), n, symbols.data()),
            good);
  EXPECT_TRUE(symbols.Untouched());
  if (good) {
    EXPECT_EQ(symbols.values(), want);
  }
  std::vector<uint16_t> elements(n);
  for (size_t i = 0; i < n; ++i) elements[i] = Element(want[i], rest[i]);
  for (const bool streaming : {false, true}) {
    for (const size_t offset : {0u, 2u, 32u}) {
      Guarded<uint16_t> out(n, offset);
      EXPECT_EQ(kernels.bf16(tables.contents(), input.data(), coded.size(), rests.data(), n,
                             out.data(), streaming),
                good);
      EXPECT_TRUE(out.Untouched());
      if (good) {
        EXPECT_EQ(out.values(), elements);
      }
    }
  }
  return good;
}

// Encodes with a code that is made of the symbols and of some more.
void CheckSymbols(const Kernels& kernels, Draw& draw, const Bytes& symbols, Counts counts,
                  unsigned limit) {
  for (const uint8_t symbol : symbols) ++counts.of[symbol];
  const Code code = MakeCode(counts.of, limit);
  EXPECT_TRUE(CheckPlane(kernels, code, EncodePlane(code, symbols), draw.Bytes(symbols.size())));
}

TEST_P(HuffmanKernels, Lengths) {
  Draw draw(1);
  SCOPED_TRACE(draw.Seed());
  std::vector<size_t> lengths;
  for (size_t n = 0; n < 10; ++n) lengths.push_back(n);
  for (const size_t round : {16u, 32u, 64u, 96u, 128u, 256u, 512u, 1024u, 1984u, 4096u, 8192u}) {
    for (size_t n = round - 2; n <= round + 2; ++n) lengths.push_back(n);
  }
  const Counts more = CountsOf(Falling(draw, 100000, 0.6));
  for (const size_t n : lengths) {
    SCOPED_TRACE(n);
    CheckSymbols(*GetParam(), draw, Falling(draw, n, 0.6), more, kLimit);
    CheckSymbols(*GetParam(), draw, Falling(draw, n, 0.6), more, kLongLimit);
  }
}

TEST_P(HuffmanKernels, Distributions) {
  Draw draw(2);
  SCOPED_TRACE(draw.Seed());
  const Kernels& kernels = *GetParam();
  for (const double ratio : {0.01, 0.3, 0.5, 0.8, 0.95}) {
    SCOPED_TRACE(ratio);
    CheckSymbols(kernels, draw, Falling(draw, 20000, ratio), {}, kLimit);
  }
  CheckSymbols(kernels, draw, Bytes(5000, 1), {}, kLimit);
  CheckSymbols(kernels, draw, draw.Bytes(5000, 1, 2), {}, kLimit);
  CheckSymbols(kernels, draw, draw.Bytes(5000), {}, kLimit);
  for (const unsigned count : {12u, 13u, 18u, 20u}) {
    SCOPED_TRACE(count);
    CheckSymbols(kernels, draw, Fibonacci(draw, count), {}, kLimit);
    CheckSymbols(kernels, draw, Fibonacci(draw, count), {}, kLongLimit);
  }
}

TEST_P(HuffmanKernels, OnlyTheLongestCodes) {
  Draw draw(3);
  SCOPED_TRACE(draw.Seed());
  const Counts counts = CountsOf(Fibonacci(draw, 20));
  const Code code = MakeCode(counts.of, kLongLimit);
  ASSERT_EQ(code.lengths[0], kLongLimit);
  // Longer than the raw plane, so that Encode would not write it: twice as many short ones follow.
  for (const size_t share : {1u, 3u, 20u}) {
    Bytes symbols(6000, 19);
    for (size_t i = 0; i < symbols.size(); i += 2 + share) symbols[i] = draw.Size(0, 3) & 0xff;
    CheckSymbols(*GetParam(), draw, symbols, counts, kLongLimit);
  }
  // Quarters of their own, from 16 bits a symbol to one.
  Bytes symbols(8192, 19);
  for (size_t i = 0; i < 2048; ++i) symbols[i] = static_cast<uint8_t>(i % 4);
  const Bytes coded = EncodePlane(code, symbols);
  ASSERT_EQ(coded[0], kCodedPlane);
  EXPECT_TRUE(CheckPlane(*GetParam(), code, coded, draw.Bytes(symbols.size())));
}

TEST_P(HuffmanKernels, QuartersOfUnequalLength) {
  Draw draw(4);
  SCOPED_TRACE(draw.Seed());
  for (unsigned order = 0; order < 4; ++order) {
    Bytes symbols;
    for (unsigned s = 0; s < 4; ++s) {
      const Bytes part = Falling(draw, 3200, 0.05 + 0.25 * ((s + order) % 4));
      symbols.insert(symbols.end(), part.begin(), part.end());
    }
    CheckSymbols(*GetParam(), draw, symbols, {}, kLimit);
  }
}

TEST_P(HuffmanKernels, EveryExponentMeetsEveryRest) {
  Draw draw(5);
  Bytes symbols(65536);
  Bytes rest(65536);
  for (size_t i = 0; i < symbols.size(); ++i) {
    symbols[i] = static_cast<uint8_t>(i >> 8);
    rest[i] = static_cast<uint8_t>(i);
  }
  Counts counts = CountsOf(symbols);
  counts.of[0] *= 1000;  // Codes of many lengths, so that the plane of 0 is coded.
  const Code code = MakeCode(counts.of, kLimit);
  EXPECT_TRUE(CheckPlane(*GetParam(), code, EncodePlane(code, symbols), rest));
  const Code even = CodeOf(symbols, kLimit);
  EXPECT_TRUE(CheckPlane(*GetParam(), even, EncodePlane(even, symbols), rest));
}

struct Small {
  Code code;
  Bytes coded;
  size_t n;
};
Small SmallPlane(Draw& draw, size_t n, unsigned limit) {
  const Bytes symbols = limit == kLimit ? Falling(draw, n, 0.6) : Bytes(n, 19);
  Counts counts = CountsOf(limit == kLimit ? Falling(draw, 50000, 0.6) : Fibonacci(draw, 20));
  for (const uint8_t symbol : symbols) ++counts.of[symbol];
  const Code code = MakeCode(counts.of, limit);
  return {code, EncodePlane(code, symbols), n};
}

TEST_P(HuffmanKernels, FlippedBits) {
  Draw draw(6);
  SCOPED_TRACE(draw.Seed());
  for (const unsigned limit : {kLimit, kLongLimit}) {
    const Small plane = SmallPlane(draw, 700, limit);
    const Bytes rest = draw.Bytes(plane.n);
    ASSERT_TRUE(CheckPlane(*GetParam(), plane.code, plane.coded, rest));
    for (size_t bit = 0; bit < plane.coded.size() * 8; ++bit) {
      Bytes coded = plane.coded;
      coded[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
      const bool accepted = CheckPlane(*GetParam(), plane.code, coded, rest);
      if (bit < 8 * kPlaneHeaderBytes) {
        EXPECT_FALSE(accepted) << bit;
      }
    }
  }
}

TEST_P(HuffmanKernels, CutAndWrongLengths) {
  Draw draw(7);
  SCOPED_TRACE(draw.Seed());
  const Small plane = SmallPlane(draw, 700, kLimit);
  const Bytes rest = draw.Bytes(plane.n + 200);
  for (size_t size = 0; size < plane.coded.size(); ++size) {
    const Bytes cut(plane.coded.begin(), plane.coded.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_FALSE(CheckPlane(*GetParam(), plane.code, cut,
                            Bytes(rest.begin(), rest.begin() + static_cast<ptrdiff_t>(plane.n))));
  }
  for (size_t n = 0; n < rest.size(); ++n) {
    const bool accepted = CheckPlane(*GetParam(), plane.code, plane.coded,
                                     Bytes(rest.begin(), rest.begin() + static_cast<ptrdiff_t>(n)));
    // Spare bits are zeros, which may be a last symbol or more, and the other way round.
    EXPECT_TRUE(n == plane.n ? accepted : !accepted || (n + 8 > plane.n && n < plane.n + 8)) << n;
  }
}

TEST_P(HuffmanKernels, RandomBytes) {
  Draw draw(8);
  SCOPED_TRACE(draw.Seed());
  for (int round = 0; round < 100; ++round) {
    const unsigned limit = round % 2 == 0 ? kLimit : kLongLimit;
    const Small plane = SmallPlane(draw, draw.Size(1, 3000), limit);
    Bytes coded = plane.coded;
    if (coded.size() > kPlaneHeaderBytes) {  // A whole header, streams of noise.
      const Bytes noise = draw.Bytes(coded.size());
      std::copy(noise.begin() + kPlaneHeaderBytes, noise.end(), coded.begin() + kPlaneHeaderBytes);
    }
    CheckPlane(*GetParam(), plane.code, coded, draw.Bytes(plane.n));
    CheckPlane(*GetParam(), plane.code, draw.Bytes(draw.Size(0, 200), 0, 2), draw.Bytes(plane.n));
  }
}

TEST_P(HuffmanKernels, TablesThatWereNotBuilt) {
  const Tables tables;
  Bytes out(100);
  const Bytes coded(200, kCodedPlane);
  EXPECT_FALSE(GetParam()->symbols(tables.contents(), coded.data(), 100, 100, out.data()));
}

TEST(HuffmanKernelsHere, Names) {
  EXPECT_STREQ(Scalar().name, "scalar");
  EXPECT_STREQ(Avx2() != nullptr ? Avx2()->name : "avx2", "avx2");
  EXPECT_STREQ(Avx512() != nullptr ? Avx512()->name : "avx512", "avx512");
}

}  // namespace
}  // namespace penstock::ops::huffman
