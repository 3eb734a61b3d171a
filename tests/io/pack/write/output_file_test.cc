#include "io/pack/write/output_file.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <string>
#include <thread>

#include "tests/io/pack/small_pack.h"

namespace penstock::io {
namespace {

TEST(OutputFile, WritesWhereItIsTold) {
  const FastDirectory scratch;
  {
    auto file = OutputFile::Open(scratch.File("f"));
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_TRUE(file->WriteAt(4, std::string_view("cdef")));
    EXPECT_TRUE(file->WriteAt(0, std::string_view("ab")));
    EXPECT_TRUE(file->Truncate(7));
    EXPECT_TRUE(file->Sync());
    file->DropCache(0, 7);
  }
  EXPECT_EQ(scratch.Read("f"), std::string("ab\0\0cde", 7));
  {
    auto file = OutputFile::Open(scratch.File("f"));  // What is there stays.
    ASSERT_TRUE(file);
    EXPECT_TRUE(file->WriteAt(1, std::string_view("x")));
  }
  EXPECT_EQ(scratch.Read("f"), std::string("ax\0\0cde", 7));
}

TEST(OutputFile, ErrorsNameTheFileAndKeepTheErrno) {
  const FastDirectory scratch;
  const auto missing = OutputFile::Open(scratch.File("none/f"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().sys, ENOENT);
  EXPECT_NE(missing.error().message.find("none/f"), std::string::npos);
  const Status renamed = RenameFile(scratch.File("x"), scratch.File("y"));
  ASSERT_FALSE(renamed);
  EXPECT_EQ(renamed.error().sys, ENOENT);
  auto full = OutputFile::Open("/dev/full");
  ASSERT_TRUE(full);
  const Status written = full->WriteAt(0, std::string_view("x"));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().sys, ENOSPC);
}

TEST(OutputFile, IsHeldByOneUntilItIsClosed) {
  const FastDirectory scratch;
  scratch.Write("f", "abc");
  for (int turn = 0; turn < 2; ++turn) {
    const auto held = OutputFile::OpenHeld(scratch.File("f"));
    ASSERT_TRUE(held) << held.error().message;
    const auto second = OutputFile::OpenHeld(scratch.File("f"));
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().sys, EWOULDBLOCK);
    EXPECT_NE(second.error().message.find(scratch.File("f")), std::string::npos);
    // The name is free as soon as the file has another one.
    ASSERT_TRUE(RenameFile(scratch.File("f"), scratch.File("g")));
    EXPECT_TRUE(OutputFile::OpenHeld(scratch.File("f")));
    ASSERT_TRUE(RenameFile(scratch.File("g"), scratch.File("f")));
  }
  EXPECT_EQ(scratch.Read("f"), "abc");
}

// A file that loses its name between being opened and being held is not what its opener gets.
TEST(OutputFile, WhoHoldsANameHoldsTheFileThatHasIt) {
  const FastDirectory scratch;
  const std::string name = scratch.File("f");
  std::atomic<int> held{0}, wrong{0};
  const auto hold = [&](const std::string& mark) {
    for (int turn = 0; turn < 5000; ++turn) {
      auto file = OutputFile::OpenHeld(name);
      if (!file) continue;
      ++held;
      if (!file->WriteAt(0, mark) || scratch.Read("f") != mark) ++wrong;
      if (std::remove(name.c_str()) != 0) ++wrong;
    }
  };
  std::thread other(hold, "other");
  hold("these");
  other.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(held, 0);
}

TEST(OutputFile, RenamesInPlaceOfAnother) {
  const FastDirectory scratch;
  scratch.Write("f", "x");
  scratch.Write("g", "y");
  ASSERT_TRUE(RenameFile(scratch.File("f"), scratch.File("g")));
  EXPECT_FALSE(scratch.Has("f"));
  EXPECT_EQ(scratch.Read("g"), "x");
}

}  // namespace
}  // namespace penstock::io
