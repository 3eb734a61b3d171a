#include <cmath>

#include <gtest/gtest.h>

#include "ops/reference/reference.h"

namespace penstock::ops::reference {
namespace {

TEST(NumericReferenceMatVec, Bf16Values) {
  EXPECT_EQ(Bf16Value(0x3f80), 1.0);
  EXPECT_EQ(Bf16Value(0xc040), -3.0);
  EXPECT_EQ(Bf16Value(0x0001), 0x1p-133);
  EXPECT_TRUE(std::isinf(Bf16Value(0x7f80)));
}

TEST(NumericReferenceMatVec, Mxfp4Values) {
  const double values[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (uint8_t code = 0; code < 8; ++code) {
    EXPECT_EQ(Mxfp4Value(code, 127), values[code]);
    EXPECT_EQ(Mxfp4Value(code | 8, 127), -values[code]);
    EXPECT_EQ(Mxfp4Value(code, 0), values[code] * 0x1p-127);
    EXPECT_EQ(Mxfp4Value(code, 254), values[code] * 0x1p127);
    EXPECT_TRUE(std::isnan(Mxfp4Value(code, 255)));
  }
  EXPECT_TRUE(std::signbit(Mxfp4Value(8, 127)));
}

// Low nibble first; one scale for 32 columns of one row.
TEST(NumericReferenceMatVec, Mxfp4Layout) {
  std::vector<uint8_t> packed(2 * 32, 0);
  packed[0] = 0x72;        // row 0: column 0 is 1, column 1 is 6
  packed[16] = 0x0b;       // row 0: column 32 is -1.5
  packed[32 + 31] = 0x10;  // row 1: column 63 is 0.5
  const Vector w = DecodeMxfp4(packed, std::vector<uint8_t>{127, 128, 129, 130}, 2, 64);
  EXPECT_EQ(w[0], 1);
  EXPECT_EQ(w[1], 6);
  EXPECT_EQ(w[32], -3);
  EXPECT_EQ(w[64 + 63], 4);
  EXPECT_EQ(w[2], 0);
}

TEST(NumericReferenceMatVec, Products) {
  const Vector w = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(MatVec(w, 2, 3, Vector{1, 10, 100}), (Vector{321, 654}));
  EXPECT_EQ(MatVecTransposed(w, 2, 3, Vector{1, 10}), (Vector{41, 52, 63}));
  EXPECT_EQ(MatVecBf16(std::vector<uint16_t>{0x3f80, 0x4000}, 1, 2, Vector{3, 4}), Vector{11});
  EXPECT_EQ(MatVecBf16Transposed(std::vector<uint16_t>{0x3f80, 0x4000}, 1, 2, Vector{3}),
            (Vector{3, 6}));
}

}  // namespace
}  // namespace penstock::ops::reference
