#include "models/k3/synth/new_directory.h"

#include <filesystem>

#include "tests/io/safetensors/shard.h"

namespace penstock::k3 {
namespace {

namespace fs = std::filesystem;
using io::ScratchDirectory;

TEST(NewDirectory, IsWholeOrNotThere) {
  const ScratchDirectory scratch;
  {
    auto directory = NewDirectory::Make(scratch.File("a/b"));
    ASSERT_TRUE(directory);
    ASSERT_TRUE(directory->Begin("f", 3));
    ASSERT_TRUE(directory->Write("abc"));
    EXPECT_FALSE(fs::exists(scratch.File("a/b/f")));
    ASSERT_TRUE(directory->End());
    ASSERT_TRUE(directory->Begin("g", 0));  // Left open.
  }
  EXPECT_FALSE(fs::exists(scratch.File("a/b")));
  auto directory = NewDirectory::Make(scratch.File("a/b"));
  ASSERT_TRUE(directory->Begin("f", 0));
  ASSERT_TRUE(directory->Write("abc"));
  ASSERT_TRUE(directory->End());
  ASSERT_TRUE(directory->Commit());
  EXPECT_EQ(fs::file_size(scratch.File("a/b/f")), 3u);
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.File("a/b")), {}), 1);
}

TEST(NewDirectory, NeverTakesAFileThatIsThere) {
  const ScratchDirectory scratch;
  auto directory = NewDirectory::Make(scratch.path());
  ASSERT_TRUE(directory);
  scratch.Write("f.partial", "somebody else's");
  const Status begun = directory->Begin("f", 0);
  ASSERT_FALSE(begun);
  EXPECT_EQ(begun.error().sys, EEXIST);
}

}  // namespace
}  // namespace penstock::k3
