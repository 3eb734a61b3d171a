#include "models/text/token_ids.h"

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace penstock::text {
namespace {

using Ids = std::vector<TokenId>;

TEST(TokenIds, ReadsCommasBlanksAndLists) {
  const std::pair<const char*, Ids> cases[] = {{"1,2,3", {1, 2, 3}},
                                               {"1 2\n3\n", {1, 2, 3}},
                                               {" 1 , 2,\t3 ", {1, 2, 3}},
                                               {"[1, 2, 3]\n", {1, 2, 3}},
                                               {"[ 1 2 ]", {1, 2}},
                                               {"7", {7}},
                                               {"", {}},
                                               {" \n", {}},
                                               {"[]", {}},
                                               {"4294967295,0", {4294967295u, 0}},
                                               {"007", {7}}};
  for (const auto& [text, expected] : cases) {
    const auto ids = ParseIds(text, "--ids");
    ASSERT_TRUE(ids) << ids.error().message;
    EXPECT_EQ(*ids, expected) << text;
  }
}

TEST(TokenIds, RefusesAnythingElseAndNamesThePlace) {
  const std::pair<const char*, const char*> cases[] = {
      {"1,,2", "byte 2"},       {",1", "byte 0"},    {"1,", "byte 2"},    {"[1", "byte 2"},
      {"1]", "byte 1"},         {"[1] 2", "byte 4"}, {"[[1]]", "byte 1"}, {"-1", "byte 0"},
      {"+1", "byte 0"},         {"1.5", "byte 1"},   {"1e3", "byte 1"},   {"x", "byte 0"},
      {"4294967296", "byte 0"}, {"[1,]", "byte 3"},  {"1\xFF", "byte 1"}, {"1;2", "byte 1"},
      {"[,]", "byte 1"},        {"1[2", "byte 1"}};
  for (const auto& [text, place] : cases) {
    const auto ids = ParseIds(text, "--ids");
    ASSERT_FALSE(ids) << text;
    EXPECT_EQ(ids.error().code, ErrorCode::kRefused);
    EXPECT_NE(ids.error().message.find(place), std::string::npos) << ids.error().message;
    EXPECT_EQ(ids.error().message.find("--ids"), 0u);
  }
}

TEST(TokenIds, ReadsAFile) {
  std::string path = ::testing::TempDir() + "penstock-ids-XXXXXX";
  const int fd = mkstemp(path.data());
  ASSERT_GE(fd, 0);
  close(fd);
  std::ofstream(path) << "[5, 6]\n";
  const auto ids = ReadIds(path);
  ASSERT_TRUE(ids) << ids.error().message;
  EXPECT_EQ(*ids, (Ids{5, 6}));
  unlink(path.c_str());
  EXPECT_FALSE(ReadIds(path));
}

TEST(TokenIds, WritesWhatItReads) {
  const Ids ids = {3, 0, 4294967295u};
  EXPECT_EQ(FormatIds(ids), "3,0,4294967295");
  EXPECT_EQ(*ParseIds(FormatIds(ids), ""), ids);
  EXPECT_EQ(FormatIds({}), "");
}

}  // namespace
}  // namespace penstock::text
