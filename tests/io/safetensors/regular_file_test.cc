#include "io/safetensors/regular_file.h"

#include <array>

#include <sys/stat.h>
#include <unistd.h>

#include "tests/io/safetensors/shard.h"

namespace penstock::io {
namespace {

TEST(RegularFile, RefusesWhatIsNone) {
  const ScratchDirectory scratch;
  ExpectRefused(RegularFile::Open(scratch.path()), {scratch.path(), "directory"});
  ExpectRefused(RegularFile::Open(scratch.File("none")), {"none", "No such file"});
  ASSERT_EQ(::mkfifo(scratch.File("pipe").c_str(), 0600), 0);
  ExpectRefused(RegularFile::Open(scratch.File("pipe")), {"pipe", "regular file"});
  ExpectRefused(RegularFile::Open("/dev/null"), {"/dev/null", "regular file"});
}

TEST(RegularFile, ReadsAnyPartAndSaysWhereItEnds) {
  const ScratchDirectory scratch;
  scratch.Write("f", "0123456789");
  const auto file = RegularFile::Open(scratch.File("f"));
  ASSERT_TRUE(file);
  EXPECT_EQ(file->size(), 10u);
  std::array<char, 4> part;
  ASSERT_TRUE(file->ReadAt(3, part));
  EXPECT_EQ(std::string(part.data(), 4), "3456");
  const Status beyond = file->ReadAt(8, part);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().code, ErrorCode::kFailed);
  EXPECT_NE(beyond.error().message.find("4 bytes at 8, got 2"), std::string::npos)
      << beyond.error().message;
}

TEST(RegularFile, WholeFilesHaveALimit) {
  const ScratchDirectory scratch;
  scratch.Write("f", "0123456789");
  EXPECT_EQ(*ReadWholeFile(scratch.File("f"), 10), "0123456789");
  ExpectRefused(ReadWholeFile(scratch.File("f"), 9), {"/f", "at most 9", "got 10"});
  ExpectRefused(ReadWholeFile(std::string("a\0b", 3), 9), {"zero byte"});
}

}  // namespace
}  // namespace penstock::io
