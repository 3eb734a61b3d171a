#include "models/k3/census/entropy/form.h"

#include <gtest/gtest.h>

namespace penstock::k3 {
namespace {

EntropyForm FormOf(std::string_view leaf, io::Dtype dtype) {
  io::TensorInfo info;
  info.group = "layers.0.";
  info.leaf = leaf;
  info.dtype = dtype;
  return EntropyFormOf(info);
}

TEST(EntropyForm, FollowsDtypeAndName) {
  using io::Dtype;
  EXPECT_EQ(FormOf("w", Dtype::kBF16), EntropyForm::kBf16);
  EXPECT_EQ(FormOf("w", Dtype::kF16), EntropyForm::kF16);
  EXPECT_EQ(FormOf("w", Dtype::kF8E4M3), EntropyForm::kF8E4M3);
  EXPECT_EQ(FormOf("w", Dtype::kF8E5M2), EntropyForm::kF8E5M2);
  EXPECT_EQ(FormOf("weight_scale", Dtype::kF32), EntropyForm::kF32);
  EXPECT_EQ(FormOf("w", Dtype::kF8E8M0), EntropyForm::kE8m0);
  EXPECT_EQ(FormOf("w1.weight_packed", Dtype::kU8), EntropyForm::kMxfp4);
  EXPECT_EQ(FormOf("up_proj_blocks", Dtype::kU8), EntropyForm::kMxfp4);
  EXPECT_EQ(FormOf("w1.weight_scale", Dtype::kU8), EntropyForm::kE8m0);
  EXPECT_EQ(FormOf("up_proj_scales", Dtype::kU8), EntropyForm::kE8m0);
  EXPECT_EQ(FormOf("w", Dtype::kU8), EntropyForm::kOther);
  EXPECT_EQ(FormOf("weight_packed", Dtype::kI32), EntropyForm::kOther);
  EXPECT_EQ(FormOf("w", Dtype::kF64), EntropyForm::kOther);
}

TEST(EntropyForm, LayoutsAddUp) {
  for (size_t i = 0; i < kEntropyForms; ++i) {
    const EntropyLayout& layout = LayoutOf(static_cast<EntropyForm>(i));
    if (!layout.splits()) continue;
    EXPECT_EQ(layout.bits, 1 + layout.exponent_bits() + layout.mantissa_bits()) << layout.name;
    EXPECT_NE(layout.element, ops::Element::kBytes) << layout.name;
  }
  EXPECT_EQ(ElementsIn(EntropyForm::kMxfp4, 5), 10u);
  EXPECT_EQ(ElementsIn(EntropyForm::kF32, 12), 3u);
  EXPECT_EQ(ElementsIn(EntropyForm::kOther, 12), 0u);
}

}  // namespace
}  // namespace penstock::k3
