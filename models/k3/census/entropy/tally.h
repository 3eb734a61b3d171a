#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/k3/census/entropy/form.h"
#include "ops/codec/statistics.h"

namespace penstock::k3 {

// What counting the elements of one tensor gives.
struct TallyFigures {
  uint64_t elements = 0;
  uint64_t zeros = 0;                   // Of either sign; 0 for what does not split.
  uint64_t nonfinite = 0;               // Infinities and NaN.
  std::optional<double> exponent_bits;  // Entropy of the exponent field.
  // Entropy of sign and mantissa, one symbol for each element. Of F32 the sum over its three bytes,
  // as 2^24 symbols would need more elements than a tensor has: never below the entropy of the whole.
  std::optional<double> rest_bits;
  std::optional<double> code_bits;     // Of MXFP4 codes or of E8M0 scales.
  std::optional<ops::TailIndex> tail;  // Of the magnitudes that are finite and not zero.
  std::vector<uint64_t> exponents;     // How often each value of the field; empty when not split.
};

// Counts the elements of a tensor of one form. Threads: one.
class Tally {
 public:
  explicit Tally(EntropyForm form);

  // Whole elements, little-endian at any address. Nothing for kOther.
  void Add(std::span<const std::byte> bytes);

  // Magnitudes are exact; those of F32 are taken to 8 significant bits for the tail.
  TallyFigures Figures() const;

 private:
  void AddF32(const uint8_t* bytes, size_t n);
  TallyFigures SplitFigures() const;

  EntropyForm form_;
  uint64_t elements_ = 0;
  std::vector<uint64_t> codes_;  // By element; of F32 by its high 16 bits.
  std::vector<uint64_t> low_;    // F32: by byte 0 and, from 256, by byte 1.
  uint64_t f32_zeros_ = 0;
};

}  // namespace penstock::k3
