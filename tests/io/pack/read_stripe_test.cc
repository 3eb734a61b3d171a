#include "io/pack/read_stripe.h"

#include <filesystem>

#include "tests/io/pack/small_pack.h"

namespace penstock::io {
namespace {

TEST(ReadStripe, GivesTheStoredBytesOrFails) {
  const FastDirectory directory;
  const SmallPack small = MakeSmallPack(6, 3, 500);
  const std::string path = directory.File("pack");
  ASSERT_TRUE(WritePack(small, path));
  const auto pack = *Pack::Open(path);
  for (size_t i = 0; i < small.stored.size(); ++i) {
    const auto bytes = ReadStripe(*pack, i);
    ASSERT_TRUE(bytes) << bytes.error().message;
    EXPECT_EQ(*bytes, small.stored[i]);
  }
  std::filesystem::resize_file(pack->stripes_path(), 10);
  EXPECT_EQ(ReadStripe(*pack, 0).error().code, ErrorCode::kFailed);
}

}  // namespace
}  // namespace penstock::io
