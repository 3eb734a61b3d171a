#include "runtime/output/file_out.h"

#include <cerrno>
#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "runtime/small_file.h"

namespace penstock {
namespace {

struct RecordFileTest : ::testing::Test {
  RecordFileTest() {
    std::string pattern = ::testing::TempDir() + "file_out_XXXXXX";
    folder = ::mkdtemp(pattern.data());
    path = folder + "/rows";
  }
  ~RecordFileTest() override { std::filesystem::remove_all(folder); }
  std::string folder, path;
};

TEST_F(RecordFileTest, HasItsNameOnlyWhenFinished) {
  auto file = RecordFile::Create(path, false);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->Append("one"));
  ASSERT_TRUE(file->Append("two"));
  EXPECT_FALSE(std::filesystem::exists(path));
  ASSERT_TRUE(file->Finish());
  EXPECT_EQ(*ReadSmallFile(path), "onetwo");
  EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
}

TEST_F(RecordFileTest, WhatIsDiscardedIsGoneAndWhatHasItsNameStays) {
  auto file = RecordFile::Create(path, false);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->Append("one"));
  file->Discard();
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  auto again = RecordFile::Create(path, false);
  ASSERT_TRUE(again);
  ASSERT_TRUE(again->Append("two"));
  ASSERT_TRUE(again->Finish());
  again->Discard();
  EXPECT_EQ(*ReadSmallFile(path), "two");
}

TEST_F(RecordFileTest, IsRemovedWhenNothingWasWritten) {
  auto file = RecordFile::Create(path, false);
  ASSERT_TRUE(file->Finish());
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(RecordFileTest, OverwritesNothingUnasked) {
  auto file = RecordFile::Create(path, false);
  ASSERT_TRUE(file->Append("first"));
  EXPECT_EQ(RecordFile::Create(path, false).error().code, ErrorCode::kRefused);  // .partial
  ASSERT_TRUE(file->Finish());
  EXPECT_EQ(RecordFile::Create(path, false).error().code, ErrorCode::kRefused);
  EXPECT_EQ(*ReadSmallFile(path), "first");
  auto again = RecordFile::Create(path, true);
  ASSERT_TRUE(again->Append("second"));
  ASSERT_TRUE(again->Finish());
  EXPECT_EQ(*ReadSmallFile(path), "second");
}

TEST_F(RecordFileTest, DoesNotReplaceWhatAppearedMeanwhile) {
  auto file = RecordFile::Create(path, false);
  ASSERT_TRUE(file->Append("ours"));
  auto other = OpenForWriting(path, false);
  ASSERT_TRUE(WriteAll(*other, "theirs", path));
  ::close(*other);
  EXPECT_FALSE(file->Finish());
  EXPECT_EQ(*ReadSmallFile(path), "theirs");
  EXPECT_EQ(*ReadSmallFile(path + ".partial"), "ours");
}

TEST_F(RecordFileTest, WritesToDevicesDirectly) {
  auto null = RecordFile::Create("/dev/null", false);
  ASSERT_TRUE(null);
  EXPECT_TRUE(null->Append("x"));
  EXPECT_TRUE(null->Finish());
  auto full = RecordFile::Create("/dev/full", false);
  ASSERT_TRUE(full);
  EXPECT_EQ(full->Append("x").error().sys, ENOSPC);
}

TEST_F(RecordFileTest, RefusesFoldersAndMissingPlaces) {
  EXPECT_EQ(RecordFile::Create(folder, false).error().code, ErrorCode::kRefused);
  EXPECT_EQ(RecordFile::Create(folder + "/no/file", false).error().code, ErrorCode::kRefused);
  EXPECT_EQ(OpenForWriting(folder, true).error().code, ErrorCode::kRefused);
}

}  // namespace
}  // namespace penstock
