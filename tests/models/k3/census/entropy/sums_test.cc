#include "models/k3/census/entropy/sums.h"

#include <cmath>

#include <gtest/gtest.h>

namespace penstock::k3 {
namespace {

EntropyFigures FiguresOf(uint64_t elements, double bits, double alpha) {
  EntropyFigures f;
  f.form = EntropyForm::kBf16;
  f.tensors = f.sampled_tensors = 1;
  f.elements = elements;
  f.bytes = 2 * elements;
  f.sampled = elements / 2;
  f.exponent_bits = bits;
  f.rest_bits = 2 * bits;
  f.coded_bits[1] = 3 * bits;
  f.tail = ops::TailIndex{alpha, alpha / 10, 100};
  f.exponents = {1 - bits / 8, bits / 8};
  f.zeros = 3;
  f.nonfinite = 1;
  return f;
}

TEST(FiguresSum, OneTensorStaysAsItIs) {
  FiguresSum sum;
  sum.Add(FiguresOf(1000, 2, 1.5), 1);
  const EntropyFigures f = sum.Figures();
  EXPECT_EQ(f.form, EntropyForm::kBf16);
  EXPECT_NEAR(*f.exponent_bits, 2, 1e-12);
  EXPECT_NEAR(*f.rest_bits, 4, 1e-12);
  EXPECT_NEAR(*f.coded_bits[1], 6, 1e-12);
  EXPECT_FALSE(f.coded_bits[0] || f.coded_bits[2] || f.code_bits);
  EXPECT_NEAR(f.tail->alpha, 1.5, 1e-12);
  EXPECT_NEAR(f.tail->error, 0.15, 1e-12);
  EXPECT_EQ(f.tail->used, 100u);
  EXPECT_NEAR(f.exponents[0], 0.75, 1e-12);
}

// Weights 1000 * 1 and 500 * 4: a third and two thirds.
TEST(FiguresSum, MeansGoByWhatATensorStandsFor) {
  FiguresSum sum;
  sum.Add(FiguresOf(1000, 2, 1), 1);
  sum.Add(FiguresOf(500, 5, 2), 4);
  EntropyFigures left_out;
  left_out.form = EntropyForm::kBf16;
  left_out.tensors = 1;
  left_out.elements = 500;
  left_out.bytes = 1000;
  sum.Add(left_out, 4);
  const EntropyFigures f = sum.Figures();
  EXPECT_EQ(f.tensors, 3u);
  EXPECT_EQ(f.sampled_tensors, 2u);
  EXPECT_EQ(f.elements, 2000u);
  EXPECT_EQ(f.bytes, 4000u);
  EXPECT_EQ(f.sampled, 750u);
  EXPECT_EQ(f.zeros, 6u);
  EXPECT_EQ(f.nonfinite, 2u);
  EXPECT_NEAR(*f.exponent_bits, 4, 1e-12);
  EXPECT_NEAR(f.exponents[1], 0.5, 1e-12);
  // gamma: 1 / 3 + (1 / 2) * 2 / 3 = 2 / 3, each with an error of a tenth: (1, 1) / 30.
  EXPECT_NEAR(f.tail->alpha, 1.5, 1e-12);
  EXPECT_NEAR(f.tail->error, std::sqrt(2.0) / 30 * 1.5 * 1.5, 1e-12);
  EXPECT_EQ(f.tail->used, 200u);
}

TEST(FiguresSum, WhatHasNoValueTakesNoPart) {
  FiguresSum sum;
  EntropyFigures without = FiguresOf(1'000'000, 7, 1);
  without.tail.reset();
  sum.Add(FiguresOf(10, 2, 1.5), 1);
  sum.Add(without, 1);
  EXPECT_NEAR(sum.Figures().tail->alpha, 1.5, 1e-12);
  EXPECT_FALSE(FiguresSum().Figures().exponent_bits);
  EXPECT_TRUE(FiguresSum().Figures().exponents.empty());
}

TEST(EntropyFigures, WidthsAndRatio) {
  EntropyFigures f = FiguresOf(1000, 2.5, 1);
  EXPECT_NEAR(*f.measured_width(), 10.5, 1e-12);
  EXPECT_NEAR(*f.bound_width(), 2 + 8, 1e-12);
  f.tail->alpha = 7;
  EXPECT_NEAR(*f.bound_width(), 2 / 0.75 + 8, 1e-12);
  f.form = EntropyForm::kF8E4M3;
  EXPECT_NEAR(*f.measured_width(), 6.5, 1e-12);
  EXPECT_NEAR(*f.ratio(1), 8 / 7.5, 1e-12);
  EXPECT_FALSE(f.ratio(0));
  f.exponent_bits.reset();
  f.tail.reset();
  EXPECT_FALSE(f.measured_width() || f.bound_width());
}

}  // namespace
}  // namespace penstock::k3
