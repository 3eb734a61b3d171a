#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace penstock::ops::huffman {

// Canonical Huffman codes within a limit, in four streams that are decoded side by side. The bytes of
// a code and of a coded plane are defined in format.h.

inline constexpr unsigned kLimit = 11;      // Longest code of the exponents of wide formats.
inline constexpr unsigned kLongLimit = 16;  // Of the FP8 formats; rare beyond 11, and slow there.
inline constexpr size_t kMostCodeBytes = 256;

// The code of a plane. lengths[s] == 0: s does not occur. A single symbol has length 1, and its
// coded planes take no bytes.
struct Code {
  unsigned limit = kLimit;
  uint8_t lengths[256] = {};
};

// Optimal lengths within the limit, by package-merge, from the counts of the symbols. The limit is
// 8..kLongLimit, the sum of the counts below 2^59. No symbol at all gives the code of symbol 0.
Code MakeCode(const uint64_t counts[256], unsigned limit);
// The bytes that a stripe keeps of it; kMostCodeBytes of room. Answers how many.
size_t WriteCode(const Code& code, uint8_t* out);
// False unless it is exactly one complete prefix code within the limit, or of a single symbol.
bool ReadCode(const uint8_t* bytes, size_t size, unsigned limit, Code& code);

size_t MostBytes(size_t n);  // Of the coded plane of n symbols.
// Writes n symbols, each of which has a length; answers the bytes written.
size_t Encode(const Code& code, const uint8_t* symbols, size_t n, uint8_t* out);

// What a decoder looks symbols up in, made from a checked code. Allocates once.
class Tables {
 public:
  Tables();
  ~Tables();
  void Build(const Code& code);
  struct Contents;
  const Contents& contents() const { return *contents_; }

 private:
  std::unique_ptr<Contents> contents_;
};

// The decoders of one instruction set. False for corrupt input; the output is then undefined, and
// never written to outside of its n elements. `coded` and `rest` are followed by kCodecSlack
// readable bytes; exactly coded_bytes must be used up. Streaming stores are used where the output
// is at a multiple of 64 bytes. Threads: a Contents that is not being built may be shared.
struct Kernels {
  const char* name;
  bool (*symbols)(const Tables::Contents& tables, const uint8_t* coded, size_t coded_bytes,
                  size_t n, uint8_t* symbols);
  bool (*bf16)(const Tables::Contents& tables, const uint8_t* coded, size_t coded_bytes,
               const uint8_t* rest, size_t n, uint16_t* out, bool streaming);
};

const Kernels& Scalar();
// nullptr where the CPU or this build lacks it.
const Kernels* Avx2();    // With BMI2 and LZCNT.
const Kernels* Avx512();  // With BW: the same decoder of symbols, a wider merge.

// The plain decoder: one symbol after another by the canonical code, one bit stream after another.
// The reference of the tests and the baseline of the benchmark.
bool DecodePlainly(const Code& code, const uint8_t* coded, size_t coded_bytes, size_t n,
                   uint8_t* symbols);

}  // namespace penstock::ops::huffman
