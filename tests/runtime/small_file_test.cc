#include "runtime/small_file.h"

#include <fstream>

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(ReadSmallFile, ReadsAllAndKeepsTheLimit) {
  const std::string path = ::testing::TempDir() + "small_file_test.txt";
  std::ofstream(path) << std::string(40'000, 'x');
  EXPECT_EQ(ReadSmallFile(path)->size(), 40'000u);
  EXPECT_EQ(ReadSmallFile(path, 40'000)->size(), 40'000u);
  EXPECT_EQ(ReadSmallFile(path, 39'999).error().code, ErrorCode::kRefused);
}

TEST(ReadSmallFile, RefusesWhatCannotBeRead) {
  EXPECT_EQ(ReadSmallFile("/nonexistent/file").error().code, ErrorCode::kRefused);
  EXPECT_EQ(ReadSmallFile("/tmp").error().code, ErrorCode::kRefused);
  EXPECT_FALSE(ReadSmallFile("/dev/zero", 1 << 20));  // Endless, and claims to be empty.
}

}  // namespace
}  // namespace penstock
