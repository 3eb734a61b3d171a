#include "models/k3/weights/packed/trunk_pack.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/models/k3/tiny_pack.h"

namespace penstock::k3 {
namespace {

Result<TrunkPack> Open(const std::string& directory, const Catalogue& catalogue,
                       const Shape& shape) {
  const auto checkpoint = *io::Checkpoint::Open(kTiny, nullptr);
  return OpenTrunkPack(directory, *checkpoint->Identity(), catalogue, shape,
                       static_cast<io::FileId>(catalogue.files().size()));
}

TEST(TrunkPack, StripesAreTheExtentsOfThePass) {
  const PackFolder folder;
  const TinyModel tiny;
  for (const uint64_t stripe_bytes : {kMiB, 64 * kMiB}) {
    const auto opened = Open(folder.PackTiny("chain", stripe_bytes), *tiny.catalogue, tiny.shape());
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    const Pass plain = Pass::Build(*tiny.catalogue, tiny.shape(), stripe_bytes);
    ASSERT_EQ(opened->pass.extents().size(), plain.extents().size());
    EXPECT_TRUE(opened->pass.packed());
    uint64_t raw = 0;
    uint64_t stored = 0;
    for (uint32_t i = 0; i < plain.extents().size(); ++i) {
      const PassExtent& extent = opened->pass.extents()[i];
      EXPECT_EQ(extent.rows, plain.extents()[i].rows);
      EXPECT_EQ(extent.extent.file, tiny.catalogue->files().size());
      EXPECT_EQ(extent.extent.tag, plain.extents()[i].extent.tag);
      EXPECT_EQ(extent.extent.offset % 4096, 0u);
      raw += opened->pass.RawBytes(i);
      stored += extent.extent.bytes;
    }
    EXPECT_LT(stored, raw * 8 / 10);
  }
}

// A copy of the checkpoint in which one byte of one weight of the trunk differs.
std::string CopyWithOtherWeight(const PackFolder& folder, const TinyModel& tiny, uint32_t extent) {
  const std::string copy = folder.File("other");
  std::filesystem::copy(kTiny, copy, std::filesystem::copy_options::recursive);
  const io::Extent& where = tiny.pass->extents()[extent].extent;
  const std::string name =
      std::filesystem::path(tiny.catalogue->FileName(where.file)).filename().string();
  std::filesystem::permissions(copy + "/" + name, std::filesystem::perms::owner_all);
  std::fstream file(copy + "/" + name, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(where.offset + 10));
  const char byte = static_cast<char>(file.get() ^ 1);
  file.seekp(static_cast<std::streamoff>(where.offset + 10));
  file.put(byte);
  return copy;
}

TEST(TrunkPack, OneOtherWeightAnywhereIsAnotherCheckpoint) {
  const PackFolder folder;
  const TinyModel tiny;
  const std::string pack = folder.PackTiny("chain");
  const auto extents = static_cast<uint32_t>(tiny.pass->extents().size());
  for (const uint32_t extent : {0u, extents / 3, extents / 2, extents - 1}) {
    const std::string copy = CopyWithOtherWeight(folder, tiny, extent);
    const auto checkpoint = *io::Checkpoint::Open(copy, nullptr);
    const auto catalogue = *Catalogue::Build(*checkpoint, tiny.shape());
    const auto opened = OpenTrunkPack(pack, *checkpoint->Identity(), catalogue, tiny.shape(), 99);
    ASSERT_FALSE(opened.has_value()) << extent;
    EXPECT_EQ(opened.error().code, ErrorCode::kRefused);
    const auto right = *io::Checkpoint::Open(kTiny, nullptr);
    EXPECT_NE(opened.error().message.find(*right->Identity()), std::string::npos);
    std::filesystem::remove_all(copy);
  }
}

TEST(TrunkPack, ThePackOfAFileIsRefused) {
  const PackFolder folder;
  const TinyModel tiny;
  PackOptions options;
  options.tensor_file = tiny.catalogue->FileName(0);
  options.out = folder.File("file");
  ASSERT_TRUE(WritePack(options, SilentWatch()).has_value());
  const auto opened = Open(options.out, *tiny.catalogue, tiny.shape());
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::kRefused);
}

}  // namespace
}  // namespace penstock::k3
