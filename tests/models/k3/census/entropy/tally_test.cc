#include "models/k3/census/entropy/tally.h"

#include <cmath>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

namespace penstock::k3 {
namespace {

template <class T>
std::span<const std::byte> Bytes(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

template <class T>
TallyFigures Count(EntropyForm form, const std::vector<T>& codes) {
  Tally tally(form);
  tally.Add(Bytes(codes));
  return tally.Figures();
}

TEST(Tally, SplitsBf16) {
  // 1.0, -1.0, 2.0, 3.0: exponents 127, 127, 128, 128; four different rests but one twice.
  const auto f = Count<uint16_t>(EntropyForm::kBf16, {0x3F80, 0xBF80, 0x4000, 0x4040});
  EXPECT_EQ(f.elements, 4u);
  EXPECT_EQ(f.exponents[127], 2u);
  EXPECT_EQ(f.exponents[128], 2u);
  EXPECT_NEAR(*f.exponent_bits, 1, 1e-12);
  EXPECT_NEAR(*f.rest_bits, 1.5, 1e-12);
  EXPECT_FALSE(f.code_bits);
  EXPECT_FALSE(f.tail);
  EXPECT_EQ(f.zeros + f.nonfinite, 0u);
}

TEST(Tally, SplitsTheOtherForms) {
  const auto f16 = Count<uint16_t>(EntropyForm::kF16, {0x3C00, 0xBC00, 0x4000, 0x4200});
  EXPECT_EQ(f16.exponents[15], 2u);
  EXPECT_EQ(f16.exponents[16], 2u);
  EXPECT_NEAR(*f16.rest_bits, 1.5, 1e-12);
  const auto e4m3 = Count<uint8_t>(EntropyForm::kF8E4M3, {0x38, 0xB8, 0x40, 0x44});
  EXPECT_EQ(e4m3.exponents[7], 2u);
  EXPECT_EQ(e4m3.exponents[8], 2u);
  EXPECT_NEAR(*e4m3.rest_bits, 1.5, 1e-12);
  const auto e5m2 = Count<uint8_t>(EntropyForm::kF8E5M2, {0x3C, 0xBC, 0x40, 0x42});
  EXPECT_EQ(e5m2.exponents[15], 2u);
  EXPECT_EQ(e5m2.exponents[16], 2u);
  EXPECT_NEAR(*e5m2.rest_bits, 1.5, 1e-12);
  // Of F32 the three bytes of the rest add up: 1 bit in each here.
  const auto f32 = Count<uint32_t>(EntropyForm::kF32, {0x3F800000, 0x40010180});
  EXPECT_EQ(f32.exponents[127], 1u);
  EXPECT_EQ(f32.exponents[128], 1u);
  EXPECT_NEAR(*f32.exponent_bits, 1, 1e-12);
  EXPECT_NEAR(*f32.rest_bits, 3, 1e-12);
  const auto signs = Count<uint32_t>(EntropyForm::kF32, {0x3F800000, 0xBF800000});
  EXPECT_NEAR(*signs.rest_bits, 1, 1e-12);
}

TEST(Tally, CountsCodesAndScales) {
  const auto codes = Count<uint8_t>(EntropyForm::kMxfp4, {0x10, 0x32});
  EXPECT_EQ(codes.elements, 4u);
  EXPECT_NEAR(*codes.code_bits, 2, 1e-12);
  EXPECT_FALSE(codes.exponent_bits);
  EXPECT_TRUE(codes.exponents.empty());
  const auto scales = Count<uint8_t>(EntropyForm::kE8m0, {7, 7, 7, 8});
  EXPECT_NEAR(*scales.code_bits, 2 - 0.75 * std::log2(3), 1e-12);
}

TEST(Tally, NamesZerosInfinitiesAndNan) {
  const auto bf16 =
      Count<uint16_t>(EntropyForm::kBf16, {0, 0x8000, 0x7F80, 0xFF80, 0x7FC0, 1, 0x3F80});
  EXPECT_EQ(bf16.zeros, 2u);
  EXPECT_EQ(bf16.nonfinite, 3u);
  const auto e4m3 = Count<uint8_t>(EntropyForm::kF8E4M3, {0x7F, 0xFF, 0x7E, 0x80});
  EXPECT_EQ(e4m3.zeros, 1u);
  EXPECT_EQ(e4m3.nonfinite, 2u);  // 0x7E is 448, its largest number.
  const auto e5m2 = Count<uint8_t>(EntropyForm::kF8E5M2, {0x7C, 0xFD, 0x7B, 0});
  EXPECT_EQ(e5m2.zeros, 1u);
  EXPECT_EQ(e5m2.nonfinite, 2u);
  const auto f32 = Count<uint32_t>(EntropyForm::kF32, {0, 0x80000000, 1, 0x7F800001, 0x7F800000});
  EXPECT_EQ(f32.zeros, 2u);
  EXPECT_EQ(f32.nonfinite, 2u);
}

TEST(Tally, NothingGivesNothing) {
  const auto empty = Count<uint16_t>(EntropyForm::kBf16, {});
  EXPECT_EQ(empty.elements, 0u);
  EXPECT_FALSE(empty.exponent_bits || empty.rest_bits || empty.code_bits || empty.tail);
  const auto other = Count<uint16_t>(EntropyForm::kOther, {1, 2, 3});
  EXPECT_FALSE(other.code_bits);
  const auto zeros = Count(EntropyForm::kBf16, std::vector<uint16_t>(1000));
  EXPECT_EQ(*zeros.exponent_bits, 0);
  EXPECT_FALSE(zeros.tail);
}

// Floats of a Pareto law with index 1.5, rounded towards zero to the form: the estimate must find
// it, whatever the form. `to_code` cuts the bits of a float.
template <class Code, class ToCode>
void ExpectTail(EntropyForm form, double allowance, const ToCode& to_code) {
  const uint64_t seed = 20'251'002;
  SCOPED_TRACE(testing::Message() << LayoutOf(form).name << ", seed " << seed);
  std::mt19937_64 random(seed);
  std::vector<Code> codes(100'000);
  for (Code& code : codes) {
    const double uniform = static_cast<double>((random() >> 11) + 1) * 0x1p-53;
    const auto value = static_cast<float>(0.01 * std::pow(uniform, -1 / 1.5));
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    code = to_code(bits | static_cast<uint32_t>(random() & 1) << 31);
  }
  codes.resize(200'000);  // Zeros take no part.
  const auto figures = Count(form, codes);
  ASSERT_TRUE(figures.tail);
  EXPECT_EQ(figures.tail->used, 2000u);
  EXPECT_NEAR(figures.tail->alpha, 1.5, 3 * figures.tail->error + allowance);
}

TEST(Tally, FindsTheTail) {
  ExpectTail<uint32_t>(EntropyForm::kF32, 0, [](uint32_t bits) { return bits; });
  ExpectTail<uint16_t>(EntropyForm::kBf16, 0,
                       [](uint32_t bits) { return static_cast<uint16_t>(bits >> 16); });
  // Exponents of these values fit the 5 bits; 2 bits of mantissa cost some accuracy.
  ExpectTail<uint8_t>(EntropyForm::kF8E5M2, 0.15, [](uint32_t bits) {
    const uint32_t exponent = std::min<uint32_t>(30, (bits >> 23 & 255) - 127 + 15);
    return static_cast<uint8_t>((bits >> 24 & 128) | exponent << 2 | (bits >> 21 & 3));
  });
}

}  // namespace
}  // namespace penstock::k3
