#include "models/k3/census/entropy/form.h"

#include <array>

namespace penstock::k3 {

EntropyForm EntropyFormOf(const io::TensorInfo& info) {
  switch (info.dtype) {
    case io::Dtype::kBF16:
      return EntropyForm::kBf16;
    case io::Dtype::kF16:
      return EntropyForm::kF16;
    case io::Dtype::kF8E4M3:
      return EntropyForm::kF8E4M3;
    case io::Dtype::kF8E5M2:
      return EntropyForm::kF8E5M2;
    case io::Dtype::kF32:
      return EntropyForm::kF32;
    case io::Dtype::kF8E8M0:
      return EntropyForm::kE8m0;
    case io::Dtype::kU8:
      break;
    default:
      return EntropyForm::kOther;
  }
  const std::string name = info.name();
  if (name.ends_with("weight_packed") || name.ends_with("_blocks")) return EntropyForm::kMxfp4;
  if (name.ends_with("weight_scale") || name.ends_with("_scales")) return EntropyForm::kE8m0;
  return EntropyForm::kOther;
}

const EntropyLayout& LayoutOf(EntropyForm form) {
  using ops::Element;
  static constexpr std::array<EntropyLayout, kEntropyForms> kLayouts = {
      {{"BF16", 16, Element::kBf16},
       {"F16", 16, Element::kF16},
       {"F8_E4M3", 8, Element::kF8E4M3},
       {"F8_E5M2", 8, Element::kF8E5M2},
       {"F32", 32, Element::kF32},
       {"MXFP4", 4, Element::kBytes},
       {"E8M0", 8, Element::kBytes},
       {"other", 0, Element::kBytes}}};
  return kLayouts[static_cast<size_t>(form)];
}

uint64_t ElementsIn(EntropyForm form, uint64_t bytes) {
  const unsigned bits = LayoutOf(form).bits;
  return bits == 0 ? 0 : bytes * 8 / bits;
}

}  // namespace penstock::k3
