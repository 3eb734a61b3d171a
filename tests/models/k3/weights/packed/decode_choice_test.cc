#include "models/k3/weights/packed/decode_choice.h"

#include <gtest/gtest.h>

#include "ops/isa.h"
#include "tests/models/k3/tiny_pack.h"

namespace penstock::k3 {
namespace {

TEST(DecodeChoice, NodesPayWhereTheyHaveCpusOfTheirOwn) {
  const DecodeCost cost{.fused = 10, .decode = 6, .product = 5};
  EXPECT_DOUBLE_EQ(FusedTime(cost, {.compute = 2}), 5);
  EXPECT_DOUBLE_EQ(NodeTime(cost, {.compute = 2, .decode = 2, .shared = true}), 5.5);
  EXPECT_DOUBLE_EQ(NodeTime(cost, {.compute = 2, .decode = 2, .shared = false}), 3);
  EXPECT_DOUBLE_EQ(NodeTime(cost, {.compute = 1, .decode = 6, .shared = false}), 5)
      << "the slower side";
}

TEST(DecodeChoice, MeasuresCodedStripesAndNothingOfRawOnes) {
  const PackFolder folder;
  const ops::Kernels& kernels = **ops::ChooseKernels("auto", nullptr);
  PackedTiny chain(folder.PackTiny("chain"));
  const auto cost = MeasureDecode(*chain.trunk.pack, chain.trunk.pass, chain.codecs, kernels);
  ASSERT_TRUE(cost.has_value()) << cost.error().message;
  EXPECT_GT(cost->fused, 0);
  EXPECT_GT(cost->decode, 0);
  EXPECT_GT(cost->product, 0);
  PackedTiny raw(folder.PackTiny("raw"));
  const auto nothing = MeasureDecode(*raw.trunk.pack, raw.trunk.pass, raw.codecs, kernels);
  ASSERT_TRUE(nothing.has_value());
  EXPECT_EQ(nothing->fused, 0);
}

}  // namespace
}  // namespace penstock::k3
