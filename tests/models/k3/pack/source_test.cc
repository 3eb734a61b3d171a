#include "models/k3/pack/source.h"

#include <gtest/gtest.h>

#include "tests/models/k3/pack/safetensors_file.h"
#include "tests/models/k3/tiny_pack.h"

namespace penstock::k3 {
namespace {

TEST(PackSource, AFileIsCoveredFromItsFirstByteToItsLast) {
  const PackFolder folder;
  const std::string path = folder.File("a.safetensors");
  const std::string bytes = WriteMixedFile(path, 1, 100000);
  const auto source = FileSource(path, kMiB);
  ASSERT_TRUE(source.has_value()) << source.error().message;
  uint64_t at = 0;
  for (size_t i = 0; i < source->stripes.size(); ++i) {
    EXPECT_EQ(source->stripes[i].extent.offset, at);
    EXPECT_LE(source->stripes[i].extent.bytes, kMiB);
    EXPECT_EQ(source->plan[i].elements * ops::ElementBytes(source->ElementOf(i)),
              source->stripes[i].extent.bytes);
    at += source->stripes[i].extent.bytes;
  }
  EXPECT_EQ(at, bytes.size());
  EXPECT_EQ(source->raw_bytes(), bytes.size());
  EXPECT_EQ(source->tensors.size(), 10u);
  EXPECT_EQ(source->tensors[0].name, "__metadata__");
}

TEST(PackSource, ATrunkIsItsPass) {
  const auto source = TrunkSource(kTiny, kMiB, nullptr);
  ASSERT_TRUE(source.has_value()) << source.error().message;
  const TinyModel tiny;
  const Pass pass = Pass::Build(*tiny.catalogue, tiny.shape(), kMiB);
  ASSERT_EQ(source->stripes.size(), pass.extents().size());
  EXPECT_EQ(source->tensors.back().name, "head");
  EXPECT_EQ(source->identity, *(*io::Checkpoint::Open(kTiny, nullptr))->Identity());
  for (size_t i = 0; i < pass.extents().size(); ++i) {
    EXPECT_EQ(source->stripes[i].extent.offset, pass.extents()[i].extent.offset);
    EXPECT_EQ(source->stripes[i].chunk_elements % pass.ProductOf(pass.extents()[i]).matrix.cols,
              0u);
  }
}

}  // namespace
}  // namespace penstock::k3
