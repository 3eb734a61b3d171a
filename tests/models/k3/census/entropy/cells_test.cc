#include "models/k3/census/entropy/cells.h"

#include <gtest/gtest.h>

namespace penstock::k3 {
namespace {

TEST(EntropyCells, ShortensCounts) {
  EXPECT_EQ(ShortCount(0), "0");
  EXPECT_EQ(ShortCount(999), "999");
  EXPECT_EQ(ShortCount(1000), "1.00k");
  EXPECT_EQ(ShortCount(9'999), "10.0k");
  EXPECT_EQ(ShortCount(99'960), "100k");
  EXPECT_EQ(ShortCount(999'499), "999k");
  EXPECT_EQ(ShortCount(999'500), "1.00M");
  EXPECT_EQ(ShortCount(2'780'000'000'000), "2.78T");
}

TEST(EntropyCells, NothingIsADash) {
  EntropyFigures f;
  EXPECT_EQ(TwoDecimals(std::nullopt), "-");
  EXPECT_EQ(TwoDecimals(2.555), "2.56");
  EXPECT_EQ(TailCell(f), "-");
  EXPECT_EQ(SampledCell(f), "-");
  f.elements = 1000;
  f.sampled = 1000;
  EXPECT_EQ(SampledCell(f), "100%");
  f.sampled = 999;
  EXPECT_EQ(SampledCell(f), "99%");
  f.sampled = 4;
  EXPECT_EQ(SampledCell(f), "0.4%");
  f.tail = ops::TailIndex{2.314, 0.04, 9};
  EXPECT_EQ(TailCell(f), "2.31 ±0.04");
}

TEST(EntropyCells, SaysWhatWasLookedAt) {
  EntropyCensus census;
  census.experts = 896;
  const std::string sampled = SampleSentence(census);
  EXPECT_NE(sampled.find("16 blocks of 64"), std::string::npos);
  EXPECT_NE(sampled.find("8 of the 896 experts"), std::string::npos);
  census.experts = 4;
  EXPECT_EQ(SampleSentence(census).find("experts"), std::string::npos);
  census.sample.full = true;
  EXPECT_NE(SampleSentence(census).find("Every element"), std::string::npos);
  EXPECT_NE(ColumnsSentence().find("2510.02676"), std::string::npos);
}

}  // namespace
}  // namespace penstock::k3
