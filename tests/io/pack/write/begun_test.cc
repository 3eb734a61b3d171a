#include "io/pack/write/begun.h"

#include "tests/io/pack/small_pack.h"

namespace penstock::io {
namespace {

TEST(BegunPack, TellsWhatAPackThatIsNotCompleteWasBegunWith) {
  const FastDirectory directory;
  const SmallPack pack = MakeSmallPack(5, 3, 50);
  const std::string path = directory.File("pack");
  EXPECT_FALSE(BegunPack(path)->has_value()) << "there is none";
  {
    const auto writer = OpenWriter(pack, path);
    ASSERT_TRUE(writer);
    ASSERT_TRUE(AppendUpTo(pack, 2, **writer));
    ASSERT_TRUE((*writer)->Flush());
  }
  const auto begun = BegunPack(path);
  ASSERT_TRUE(begun) << begun.error().message;
  ASSERT_TRUE(begun->has_value());
  EXPECT_EQ(**begun, pack.parameters);
  ASSERT_TRUE(WritePack(pack, path));
  EXPECT_FALSE(BegunPack(path)->has_value()) << "it is complete";
}

TEST(BegunPack, AnythingElseInTheJournalsPlaceIsRefused) {
  const FastDirectory directory;
  directory.Write(kJournalName, "{\"schema\": 1}\n");
  EXPECT_EQ(BegunPack(directory.path()).error().code, ErrorCode::kRefused);
  directory.Write(kJournalName, "{\"sche");  // Torn: nothing is known.
  ASSERT_TRUE(BegunPack(directory.path()));
  EXPECT_FALSE(BegunPack(directory.path())->has_value());
}

}  // namespace
}  // namespace penstock::io
