#include "models/k3/census/entropy/tally.h"

#include <cmath>
#include <cstring>

namespace penstock::k3 {
namespace {

// A floating-point format as the counts see it: codes of sign, exponent and mantissa.
struct Format {
  unsigned exponent_bits, mantissa_bits;
  bool ieee;  // The highest exponent stands for infinities and NaN; else the last code for NaN.
  double between;  // What the mantissa lacks on average, where codes were cut.

  size_t magnitudes() const { return size_t{1} << (exponent_bits + mantissa_bits); }

  bool IsFinite(size_t magnitude) const {
    if (!ieee) return magnitude + 1 < magnitudes();
    return (magnitude >> mantissa_bits) + 1 < (size_t{1} << exponent_bits);
  }

  double Value(size_t magnitude) const {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const auto exponent = static_cast<int>(magnitude >> mantissa_bits);
    const size_t ones = magnitude & ((size_t{1} << mantissa_bits) - 1);
    const double mantissa = static_cast<double>(ones) + between;
    const auto shift = static_cast<int>(mantissa_bits);
    if (exponent == 0) return std::ldexp(mantissa, 1 - bias - shift);
    return std::ldexp(mantissa + std::ldexp(1.0, shift), exponent - bias - shift);
  }
};

Format FormatOf(EntropyForm form) {
  if (form == EntropyForm::kF32) return {8, 7, true, 0.5};
  const EntropyLayout& layout = LayoutOf(form);
  return {layout.exponent_bits(), layout.mantissa_bits(), form != EntropyForm::kF8E4M3, 0};
}

size_t CodesOf(EntropyForm form) {
  switch (form) {
    case EntropyForm::kMxfp4:
      return 16;
    case EntropyForm::kOther:
      return 0;
    default:
      return LayoutOf(form).bits == 8 ? 256 : 65536;
  }
}

std::optional<ops::TailIndex> TailOf(const Format& format,
                                     const std::vector<uint64_t>& magnitudes) {
  std::vector<double> values;
  std::vector<uint64_t> counts;
  for (size_t magnitude = 0; magnitude < magnitudes.size(); ++magnitude) {
    if (magnitudes[magnitude] == 0 || !format.IsFinite(magnitude)) continue;
    values.push_back(format.Value(magnitude));
    counts.push_back(magnitudes[magnitude]);
  }
  return ops::HillTailIndex(values, counts);
}

}  // namespace

Tally::Tally(EntropyForm form) : form_(form), codes_(CodesOf(form)) {
  if (form == EntropyForm::kF32) low_.resize(512);
}

void Tally::AddF32(const uint8_t* bytes, size_t n) {
  for (size_t i = 0; i < n; ++i, bytes += 4) {
    uint32_t code;
    std::memcpy(&code, bytes, 4);
    ++codes_[code >> 16];
    ++low_[code & 255];
    ++low_[256 + (code >> 8 & 255)];
    f32_zeros_ += (code << 1) == 0;
  }
}

void Tally::Add(std::span<const std::byte> raw) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(raw.data());
  const uint64_t n = ElementsIn(form_, raw.size());
  elements_ += n;
  if (form_ == EntropyForm::kOther) return;
  if (form_ == EntropyForm::kF32) return AddF32(bytes, n);
  if (form_ == EntropyForm::kMxfp4) {
    for (size_t i = 0; i < raw.size(); ++i) {
      ++codes_[bytes[i] & 15];
      ++codes_[bytes[i] >> 4];
    }
    return;
  }
  if (codes_.size() == 256) {
    for (size_t i = 0; i < n; ++i) ++codes_[bytes[i]];
    return;
  }
  for (size_t i = 0; i < n; ++i, bytes += 2) {
    uint16_t code;
    std::memcpy(&code, bytes, 2);
    ++codes_[code];
  }
}

TallyFigures Tally::SplitFigures() const {
  const Format format = FormatOf(form_);
  const size_t mantissas = size_t{1} << format.mantissa_bits;
  std::vector<uint64_t> magnitudes(format.magnitudes());
  std::vector<uint64_t> rest(2 * mantissas);
  TallyFigures out;
  out.exponents.resize(size_t{1} << format.exponent_bits);
  for (size_t code = 0; code < codes_.size(); ++code) {
    const size_t magnitude = code % magnitudes.size();
    const bool negative = code >= magnitudes.size();
    magnitudes[magnitude] += codes_[code];
    out.exponents[magnitude >> format.mantissa_bits] += codes_[code];
    rest[magnitude % mantissas + (negative ? mantissas : 0)] += codes_[code];
    if (!format.IsFinite(magnitude)) out.nonfinite += codes_[code];
  }
  out.zeros = magnitudes[0];
  out.exponent_bits = ops::Entropy(out.exponents);
  out.rest_bits = ops::Entropy(rest);
  if (form_ == EntropyForm::kF32) {
    const std::span<const uint64_t> low(low_);
    *out.rest_bits += ops::Entropy(low.first(256)) + ops::Entropy(low.subspan(256));
    out.zeros = f32_zeros_;
    magnitudes[0] -= f32_zeros_;
  } else {
    magnitudes[0] = 0;
  }
  out.tail = TailOf(format, magnitudes);
  return out;
}

TallyFigures Tally::Figures() const {
  TallyFigures out;
  if (elements_ > 0 && LayoutOf(form_).splits()) {
    out = SplitFigures();
  } else if (elements_ > 0) {
    out.code_bits = ops::Entropy(codes_);
  }
  out.elements = elements_;
  return out;
}

}  // namespace penstock::k3
