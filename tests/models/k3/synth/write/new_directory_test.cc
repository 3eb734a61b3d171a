#include "models/k3/synth/write/new_directory.h"

#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sstream>

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

// Whole blocks past the page cache and a tail that is none, on whatever file system this is.
TEST(NewDirectory, WritesDirectlyWithATail) {
  const ScratchDirectory scratch;
  auto directory = NewDirectory::Make(scratch.File("d"));
  ASSERT_TRUE(directory);
  alignas(4096) static std::array<std::byte, 3 * 4096> bytes;
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 256);
  ASSERT_TRUE(directory->BeginDirect("f", bytes.size() + 5000));
  ASSERT_TRUE(directory->Write(bytes));
  ASSERT_TRUE(directory->Write(std::span(bytes).first(5000)));
  ASSERT_TRUE(directory->End());
  ASSERT_TRUE(directory->Begin("g", 0));
  ASSERT_TRUE(directory->Write("odd"));
  ASSERT_TRUE(directory->End());
  ASSERT_TRUE(directory->Commit());
  std::string expected(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  expected += expected.substr(0, 5000);
  std::ostringstream got;
  got << std::ifstream(scratch.File("d/f"), std::ios::binary).rdbuf();
  EXPECT_TRUE(got.str() == expected);
  EXPECT_EQ(fs::file_size(scratch.File("d/g")), 3u);
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
