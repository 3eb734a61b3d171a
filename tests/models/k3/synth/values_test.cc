#include "models/k3/synth/values.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace penstock::k3 {
namespace {

// A value is a function of its position: how a tensor is cut into pieces cannot show.
TEST(SynthValues, DoNotDependOnThePieces) {
  for (const io::Dtype dtype : {io::Dtype::kBF16, io::Dtype::kF32, io::Dtype::kU8}) {
    Recipe recipe;
    recipe.used = 700;
    if (dtype == io::Dtype::kU8) recipe.kind = Recipe::Kind::kScales;
    const size_t size = io::DtypeBytes(dtype);
    std::vector<std::byte> whole(1000 * size), parts(1000 * size);
    FillValues(9, "t", dtype, recipe, 0, whole);
    for (size_t at = 0; at < 1000;) {
      const size_t count = std::min<size_t>(8 * (1 + at % 5), 1000 - at);
      FillValues(9, "t", dtype, recipe, at, std::span(parts).subspan(at * size, count * size));
      at += count;
    }
    EXPECT_EQ(whole, parts);
    FillValues(9, "u", dtype, recipe, 0, parts);
    EXPECT_NE(whole, parts);
  }
}

TEST(SynthValues, HaveTheMomentsAskedFor) {
  Recipe recipe;
  recipe.mean = 2;
  recipe.spread = 3;
  std::vector<float> values(100000);
  FillValues(1, "t", io::Dtype::kF32, recipe, 0, std::as_writable_bytes(std::span(values)));
  double sum = 0, squares = 0;
  for (const float v : values) sum += v, squares += (v - 2.0) * (v - 2.0);
  EXPECT_NEAR(sum / 1e5, 2, 0.05);
  EXPECT_NEAR(std::sqrt(squares / 1e5), 3, 0.05);
  for (const double deviation : {0.5, 0.02, 1e-3}) {
    const uint8_t exponent = ScaleExponent(deviation);
    EXPECT_NEAR(std::log2(deviation), exponent - 127 + std::log2(2.926 * 1.3229), 0.5);
  }
}

}  // namespace
}  // namespace penstock::k3
