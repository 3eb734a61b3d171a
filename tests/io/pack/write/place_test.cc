#include "io/pack/write/place.h"

#include "tests/io/pack/small_pack.h"

namespace penstock::io {
namespace {

TEST(PackPlace, OneWriterAtATime) {
  const FastDirectory scratch;
  const std::string directory = scratch.File("p");
  {
    const auto first = PackPlace::Take(directory, {});
    ASSERT_TRUE(first) << first.error().message;
    ExpectRefused(PackPlace::Take(directory, {}), {directory, "another process"});
    EXPECT_TRUE(scratch.Has("p"));
  }
  EXPECT_FALSE(scratch.Has("p"));  // Made here, and nothing was put into it.
  EXPECT_TRUE(PackPlace::Take(directory, {}));
}

TEST(PackPlace, LeavesAlonePlacesThatAreNotItsOwn) {
  const FastDirectory scratch;
  scratch.Write("file", "x");
  ExpectRefused(PackPlace::Take(scratch.File("file"), {}), {scratch.File("file")});
  ExpectRefused(PackPlace::Take("", {}), {"empty"});
  ExpectRefused(PackPlace::Take(scratch.path(), {}), {"'file'"});
  std::filesystem::create_directory(scratch.File("empty"));
  EXPECT_TRUE(PackPlace::Take(scratch.File("empty"), {}));
  EXPECT_TRUE(scratch.Has("empty"));
  scratch.Write("empty/stripes.bin", "x");  // Stripes, but nothing that says of what.
  ExpectRefused(PackPlace::Take(scratch.File("empty"), {}), {"'stripes.bin'"});
  scratch.Write("empty/pack.jsonl.partial", "");
  EXPECT_TRUE(PackPlace::Take(scratch.File("empty"), {}));
}

TEST(PackPlace, ACompletePackIsRefusedAndTidied) {
  const FastDirectory scratch;
  scratch.Write("pack.json", "{}");
  scratch.Write("pack.jsonl.partial", "left by a writer stopped in its last moment");
  ExpectRefused(PackPlace::Take(scratch.path(), {}), {"already complete"});
  EXPECT_FALSE(scratch.Has("pack.jsonl.partial"));
  EXPECT_TRUE(scratch.Has("pack.json"));
}

TEST(PackPlace, AsksForRoomAndCountsWhatIsThere) {
  const FastDirectory scratch;
  const auto place = PackPlace::Take(scratch.path(), {});
  ASSERT_TRUE(place);
  EXPECT_TRUE(place->CheckSpace(1));
  EXPECT_TRUE(place->Sync());
  constexpr uint64_t kTooMuch = uint64_t{1} << 60;
  ExpectRefused(place->CheckSpace(kTooMuch), {scratch.path(), std::to_string(kTooMuch)});
  // A file with a hole counts by its size.
  scratch.Write("stripes.bin.partial", "");
  std::filesystem::resize_file(scratch.File("stripes.bin.partial"), uint64_t{1} << 40);
  EXPECT_TRUE(place->CheckSpace(uint64_t{1} << 40));
}

}  // namespace
}  // namespace penstock::io
