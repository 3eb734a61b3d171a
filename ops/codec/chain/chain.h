#pragma once

#include <cstddef>
#include <cstdint>

// The bit-sliced escape chain: a code for bytes of which a few are common, such as exponents, that is
// decoded 64 symbols at a time, without tables and branches. Its bytes are laid out in
// ops/codec/chain/format.h. Pure functions; the encoder allocates, the decoders do not.
namespace penstock::ops::chain {

size_t MostBytes(size_t n);  // For n symbols.

// Writes n symbols into `out` (MostBytes of room); answers the bytes written.
size_t Encode(const uint8_t* symbols, size_t n, uint8_t* out);

// The decoders of one instruction set. False for corrupt input. `coded` is followed by
// kCodecSlack readable bytes; exactly coded_bytes must be used up.
struct Kernels {
  const char* name;
  // n symbols.
  bool (*symbols)(const uint8_t* coded, size_t coded_bytes, size_t n, uint8_t* symbols);
  // n bf16 elements: the symbols are exponents, rest[i] is sign << 7 | mantissa. `rest` too is followed by
  // readable bytes. `streaming`: the output will not be read soon.
  bool (*bf16)(const uint8_t* coded, size_t coded_bytes, const uint8_t* rest, size_t n,
               uint16_t* out, bool streaming);
};

const Kernels& Scalar();
const Kernels* Avx2();    // With BMI2. nullptr where the CPU or this build lacks it.
const Kernels* Avx512();  // With VBMI, VBMI2 and VPOPCNTDQ, likewise.

}  // namespace penstock::ops::chain
