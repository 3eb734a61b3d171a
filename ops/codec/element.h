#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::ops {

// How the elements of a stripe split into a plane that codes well, the exponents, and the rest,
// which is as good as noise and stored as it is. The numbers are part of the pack format (io/pack.h).
enum class Element : uint8_t {
  kBytes = 0,   // Not split: raw only.
  kBf16 = 1,    // 8 exponent bits, rest of 8: sign << 7 | mantissa.
  kF16 = 2,     // 5, rest of 11: sign << 10 | mantissa.
  kF8E4M3 = 3,  // 4, rest of 4: sign << 3 | mantissa.
  kF8E5M2 = 4,  // 5, rest of 3: sign << 2 | mantissa.
  kF32 = 5,     // 8, rest of 24: sign << 23 | mantissa.
};

size_t ElementBytes(Element element);    // 1, 2, 2, 1, 1, 4
unsigned ExponentBits(Element element);  // 0 for kBytes.
unsigned RestBits(Element element);      // 0 for kBytes.

// Bytes of the rest of n elements: one plane of n bytes for each whole byte of it, the least
// significant first, then one bit plane of ceil(n / 8) bytes for each bit that is left, the least
// significant first; element i is bit i % 8 of byte i / 8, and the bits behind the last element are
// zero.
size_t RestBytes(Element element, size_t n);

// Splits n elements, little-endian at any address, into n exponents and RestBytes of rest.
void Split(Element element, const uint8_t* raw, size_t n, uint8_t* exponents, uint8_t* rest);

// The reverse. Exponents above the field's width give elements of no meaning, and never a write
// outside of the n elements of `raw`.
void Merge(Element element, const uint8_t* exponents, const uint8_t* rest, size_t n, uint8_t* raw);

}  // namespace penstock::ops
