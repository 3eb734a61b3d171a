#include "models/k3/weights/pass.h"

#include <gtest/gtest.h>

#include "tests/models/k3/tiny_model.h"

namespace penstock::k3 {
namespace {

TEST(Pass, CutsEveryMatrixIntoRowBlocksThatTileIt) {
  TinyModel tiny;
  for (const Product& product : tiny.pass->products()) {
    uint64_t offset = product.matrix.extent.offset;
    uint32_t row = 0;
    for (uint32_t i = 0; i < product.extents; ++i) {
      const PassExtent& extent = tiny.pass->extents()[product.first_extent + i];
      EXPECT_EQ(extent.first_row, row);
      EXPECT_EQ(extent.extent.offset, offset);
      EXPECT_EQ(extent.extent.bytes, uint64_t{extent.rows} * product.matrix.cols * 2);
      EXPECT_EQ(extent.first_row % product.row_unit, 0u);
      row += extent.rows;
      offset += extent.extent.bytes;
    }
    EXPECT_EQ(row, product.matrix.rows);
  }
  EXPECT_GT(tiny.pass->extents().size(), tiny.pass->products().size());
  EXPECT_EQ(tiny.pass->products().back().role, Role::kHead);
}

TEST(Pass, LayersFollowEachOtherAndTheHeadIsLast) {
  TinyModel tiny;
  const size_t layers = tiny.shape().layers;
  EXPECT_EQ(tiny.pass->FirstExtentOf(0), 0u);
  EXPECT_EQ(tiny.pass->FirstExtentOf(layers + 1), tiny.pass->extents().size());
  for (size_t layer = 0; layer <= layers; ++layer) {
    for (uint32_t i = tiny.pass->FirstExtentOf(layer); i < tiny.pass->FirstExtentOf(layer + 1);
         ++i) {
      EXPECT_EQ(tiny.pass->ProductOf(tiny.pass->extents()[i]).layer, layer);
      EXPECT_EQ(tiny.pass->extents()[i].extent.tag, layer);
    }
  }
  EXPECT_EQ(tiny.pass->Find(layers, Role::kHead), tiny.pass->products().size() - 1);
  EXPECT_EQ(tiny.pass->Find(0, Role::kRouter), kNone) << "layer 0 is dense";
}

// Trunk matrices of the embedded checkpoint, summed from its shapes.
TEST(Pass, HoldsEveryMatrixByteOnce) {
  TinyModel tiny;
  uint64_t bytes = 0;
  for (const PassExtent& extent : tiny.pass->extents()) bytes += extent.extent.bytes;
  const uint64_t kda = 2 * (5 * 192 * 128 + 64 * 128 + 192 * 64 + 3 * 128);
  const uint64_t mla = 2 * (64 * 128 + 4 * 48 * 64 + 64 * 128 + 4 * 64 * 48 + 2 * 128 * 128);
  const uint64_t dense = 2 * 3 * 256 * 128;
  const uint64_t moe = 2 * (32 * 128 + 2 * 96 * 128 + 3 * 128 * 128);
  EXPECT_EQ(bytes, 6 * kda + 3 * mla + dense + 8 * moe + 2 * 2048 * 128);
}

}  // namespace
}  // namespace penstock::k3
