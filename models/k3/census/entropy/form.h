#pragma once

#include <cstdint>
#include <string_view>

#include "io/checkpoint.h"
#include "ops/codec/element.h"

namespace penstock::k3 {

// What the bytes of a tensor are to the entropy census.
enum class EntropyForm : uint8_t {
  kBf16,
  kF16,
  kF8E4M3,
  kF8E5M2,
  kF32,
  kMxfp4,  // Two 4-bit codes in a byte: U8, named weight_packed or *_blocks.
  kE8m0,   // Scales, a power of two in a byte: F8_E8M0, or U8 named weight_scale or *_scales.
  kOther   // Counted only.
};
inline constexpr size_t kEntropyForms = 8;

struct EntropyLayout {
  std::string_view name;
  unsigned bits = 0;  // Of an element; 0 for kOther.
  ops::Element element = ops::Element::kBytes;

  unsigned exponent_bits() const { return ops::ExponentBits(element); }
  bool splits() const { return exponent_bits() > 0; }
  unsigned mantissa_bits() const { return splits() ? ops::RestBits(element) - 1 : 0; }
};

EntropyForm EntropyFormOf(const io::TensorInfo& info);
const EntropyLayout& LayoutOf(EntropyForm form);
// Elements in so many bytes of the form; those of kOther are not known from it.
uint64_t ElementsIn(EntropyForm form, uint64_t bytes);

}  // namespace penstock::k3
