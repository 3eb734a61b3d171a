#include "runtime/options/command_line.h"

#include <fstream>

#include <gtest/gtest.h>

#include "tests/runtime/options/sample.h"

namespace penstock {
namespace {

struct CommandLineTest : ::testing::Test {
  CommandLineTest() { set.Add("io", sample); }
  Result<Parsed> Parse(std::vector<std::string> arguments) {
    return ParseCommandLine({"tool run", "Runs.", "prompt", {}}, arguments, set);
  }
  void ExpectRefused(std::vector<std::string> arguments, const std::string& part) {
    const auto parsed = Parse(std::move(arguments));
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().code, ErrorCode::kRefused);
    EXPECT_NE(parsed.error().message.find(part), std::string::npos) << parsed.error().message;
  }
  Sample sample;
  OptionSet set;
};
TEST_F(CommandLineTest, SetsEveryKindOfField) {
  const auto parsed = Parse({"--iodepth", "32", "--offset", "-4", "-s", "18446744073709551615",
                             "--temp=1.25", "--top-p", "0.5", "--bs", "1M", "--pause", "3us",
                             "--ioengine=pread", "-p", "", "--flag", "--no-on"});
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*parsed, Parsed::kRun);
  EXPECT_EQ(sample.iodepth, 32u);
  EXPECT_EQ(sample.offset, -4);
  EXPECT_EQ(sample.seed, UINT64_MAX);
  EXPECT_EQ(sample.temp, 1.25);
  EXPECT_EQ(sample.top_p, 0.5f);
  EXPECT_EQ(sample.bs.bytes, kMiB);
  EXPECT_EQ(sample.pause.ns, 3000u);
  EXPECT_EQ(sample.engine, "pread");
  EXPECT_EQ(sample.prompt, "");
  EXPECT_TRUE(sample.flag);
  EXPECT_FALSE(sample.on);
}

TEST_F(CommandLineTest, TakesTextAsItIs) {
  for (const std::string text :
       {"[a,b]", "--help", "-x", "a b\n\tc", "{\"k\": 1}", "\\n", "a=b", "ü"}) {
    ASSERT_TRUE(Parse({"-p", text})) << text;
    EXPECT_EQ(sample.prompt, text);
  }
}

TEST_F(CommandLineTest, LastOneCountsAndBareArgumentHasItsPlace) {
  ASSERT_TRUE(Parse({"--iodepth", "1", "hello", "--iodepth", "2"}));
  EXPECT_EQ(sample.iodepth, 2u);
  EXPECT_EQ(sample.prompt, "hello");
  ExpectRefused({"hello", "again"}, "again");
}

TEST_F(CommandLineTest, HelpChecksNothing) {
  const auto parsed = Parse({"--iodepth", "0", "--help"});
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, Parsed::kHelp);
}

TEST_F(CommandLineTest, RefusesAndSaysWhatWouldDo) {
  ExpectRefused({"--iodpeth", "4"}, "--iodepth");
  ExpectRefused({"--iodepth", "0"}, "1 to 4096");
  ExpectRefused({"--iodepth", "4097"}, "1 to 4096");
  ExpectRefused({"--iodepth", "-1"}, "1 to 4096");
  ExpectRefused({"--iodepth", "99999999999999999999999"}, "1 to 4096");
  ExpectRefused({"--iodepth", "4x"}, "1 to 4096");
  ExpectRefused({"--iodepth"}, "--iodepth");
  ExpectRefused({"--bs", "2k"}, "4k to 64M");
  ExpectRefused({"--temp", "nan"}, "0 to 2");
  ExpectRefused({"--temp", "1e999"}, "0 to 2");
  ExpectRefused({"--pause", "2s"}, "0 to 1s");
  ExpectRefused({"--ioengine", "sync"}, "auto|pread|io_uring");
  EXPECT_EQ(OptionsToJson(sample), OptionsToJson(Sample{}));
}

TEST_F(CommandLineTest, FlagsBeatTheConfigFile) {
  const std::string path = ::testing::TempDir() + "options_test.json";
  std::ofstream(path) << R"({"io": {"iodepth": 64, "bs": "8M", "flag": true}})";
  ASSERT_TRUE(Parse({"--iodepth", "2", "--config", path}));
  EXPECT_EQ(sample.iodepth, 2u);
  EXPECT_EQ(sample.bs.bytes, 8 * kMiB);
  EXPECT_TRUE(sample.flag);
  ExpectRefused({"--config", "/nonexistent"}, "/nonexistent");
}

TEST_F(CommandLineTest, HelpNamesEveryFlag) {
  const std::string help = FormatHelp({"tool run", "Runs.", "", {}}, set);
  for (const OptionRow& row : set.rows()) {
    EXPECT_NE(help.find("--" + row.names.front()), std::string::npos) << row.Key();
  }
}

}  // namespace
}  // namespace penstock
