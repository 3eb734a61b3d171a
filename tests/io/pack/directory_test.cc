#include "io/pack/directory.h"

#include <algorithm>

#include "tests/io/pack/small_pack.h"

namespace penstock::io {
namespace {

TEST(Pack, RoundTripsRandomStripes) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  for (uint64_t round = 0; round < 5; ++round) {
    const SmallPack pack = MakeSmallPack(seed + round, 8, 3000);
    const FastDirectory scratch;
    const std::string directory = scratch.File("p");
    const Status written = WritePack(pack, directory);
    ASSERT_TRUE(written) << written.error().message;
    const auto opened = Pack::Open(directory);
    ASSERT_TRUE(opened) << opened.error().message;
    const PackManifest& manifest = (*opened)->manifest();
    EXPECT_EQ(manifest.parameters, pack.parameters);
    EXPECT_EQ(manifest.tensors, pack.tensors);
    ASSERT_EQ(manifest.stripes.size(), pack.plan.size());
    EXPECT_EQ((*opened)->stripes_path(), directory + "/stripes.bin");
    const std::string bytes = scratch.Read("p/stripes.bin");
    EXPECT_EQ(bytes.size(), manifest.file_bytes);
    const auto all = std::as_bytes(std::span(bytes));
    for (size_t i = 0; i < manifest.stripes.size(); ++i) {
      const Extent extent = (*opened)->extent(i, 3);
      EXPECT_EQ(extent.file, 3u);
      EXPECT_EQ(extent.offset % 4096, 0u);
      EXPECT_TRUE(std::ranges::equal(all.subspan(extent.offset, extent.bytes), pack.stored[i]));
      EXPECT_EQ(manifest.stripes[i].raw_sum, SumOf(pack.raw[i]));
      const auto padded = all.subspan(extent.offset, manifest.stripes[i].padded_bytes());
      EXPECT_TRUE(VerifyStripe(padded, manifest, i));
    }
  }
}

TEST(Pack, AFileOfAnotherSizeIsRefused) {
  const SmallPack pack = MakeSmallPack(1, 2, 100);
  const FastDirectory scratch;
  ASSERT_TRUE(WritePack(pack, scratch.File("p")));
  const std::string bytes = scratch.Read("p/stripes.bin");
  for (const size_t size : {size_t{0}, bytes.size() - 1, bytes.size() - 4096, bytes.size() + 1}) {
    std::string changed = bytes;
    changed.resize(size);
    scratch.Write("p/stripes.bin", changed);
    ExpectRefused(
        Pack::Open(scratch.File("p")),
        {"stripes.bin: expected " + std::to_string(bytes.size()), "got " + std::to_string(size)});
  }
  std::filesystem::remove(scratch.File("p/stripes.bin"));
  ExpectRefused(Pack::Open(scratch.File("p")), {"stripes.bin"});
}

TEST(Pack, WhatIsNotCompleteSaysSo) {
  const SmallPack pack = MakeSmallPack(1, 3, 100);
  const FastDirectory scratch;
  {
    const auto writer = OpenWriter(pack, scratch.File("p"));
    ASSERT_TRUE(writer);
    ASSERT_TRUE((*writer)->Append(pack.stripes[0]));
  }
  ExpectRefused(Pack::Open(scratch.File("p")),
                {scratch.File("p"), "not complete", "penstock pack"});
  ASSERT_TRUE(WritePack(pack, scratch.File("p")));
  EXPECT_TRUE(Pack::Open(scratch.File("p")));
  ExpectRefused(Pack::Open(scratch.File("q")), {"pack.json"});
  scratch.Write("p/pack.json", "{}");
  ExpectRefused(Pack::Open(scratch.File("p")), {scratch.File("p/pack.json")});
}

TEST(Pack, OnlyARegularFileIsThere) {
  const FastDirectory scratch;
  scratch.Write("f", "x");
  EXPECT_TRUE(HasFile(scratch.File("f")));
  EXPECT_FALSE(HasFile(scratch.File("g")));
  EXPECT_FALSE(HasFile(scratch.path()));
}

}  // namespace
}  // namespace penstock::io
