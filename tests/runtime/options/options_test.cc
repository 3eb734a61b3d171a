#include "runtime/options/options.h"

#include <fstream>

#include <gtest/gtest.h>

#include "runtime/options/command_line.h"

namespace penstock {
namespace {

struct Sample {
  uint32_t iodepth = 8;
  int64_t offset = -3;
  uint64_t seed = 0;
  double temp = 0.5;
  float top_p = 0.9f;
  ByteSize bs{4 * kMiB};
  Duration pause{5'000'000};
  std::string engine = "auto";
  std::string prompt;
  bool flag = false;
  bool on = true;

  template <class Self, class V>
  static void Visit(Self& c, V&& v) {
    v("iodepth", c.iodepth, "reads", 1, 4096, "Reads in flight.");
    v("offset", c.offset, "steps", -5, 5, "A number that may be negative.");
    v("seed,s", c.seed, "", 0, UINT64_MAX, "Any number.");
    v("temp", c.temp, "", 0, 2, "A fraction.");
    v("top-p", c.top_p, "", 0.0, 1.0, "A fraction in single precision.");
    v("bs", c.bs, "bytes", 4 * kKiB, 64 * kMiB, "A size.");
    v("pause", c.pause, "time", 0, 1'000'000'000, "A duration.");
    v("ioengine", c.engine, {"auto", "pread", "io_uring"}, "A choice.");
    v("prompt,p", c.prompt, "Any text.");
    v("flag", c.flag, "A switch.");
    v("on", c.on, "A switch that is on.");
  }
};

struct Fixture : ::testing::Test {
  Fixture() { set.Add("io", sample); }
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
using CommandLineTest = Fixture;
using OptionsJson = Fixture;

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

TEST_F(OptionsJson, ReadsBackWhatItWrites) {
  ASSERT_TRUE(Parse({"--iodepth", "77", "--temp", "0.1", "--bs", "12k", "--seed",
                     "18446744073709551615", "--prompt", "a\"b", "--flag"}));
  const Json written = set.ToJson();
  Sample other;
  OptionSet other_set;
  other_set.Add("io", other);
  ASSERT_TRUE(other_set.FromJson(Json::parse(written.dump()), "test"));
  EXPECT_EQ(other_set.ToJson(), written);
  EXPECT_EQ(other.seed, UINT64_MAX);
  EXPECT_EQ(other.temp, 0.1);
}

TEST_F(OptionsJson, RefusesUnknownKeysAndWrongValues) {
  const auto refused = [&](const char* text, const std::string& part) {
    const auto read = set.FromJson(Json::parse(text), "f.json");
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().message.find(part), std::string::npos) << read.error().message;
    EXPECT_NE(read.error().message.find("f.json"), std::string::npos);
  };
  refused(R"({"io": {"iodpeth": 1}})", "io.iodepth");
  refused(R"({"oi": {"iodepth": 1}})", "io.iodepth");
  refused(R"({"iodepth": 1})", "io.iodepth");
  refused(R"({"io": {"iodepth": 0}})", "1 to 4096");
  refused(R"({"io": {"iodepth": 1.5}})", "1 to 4096");
  refused(R"({"io": {"iodepth": [1]}})", "array");
  refused(R"({"io": {"iodepth": null}})", "null");
  refused(R"({"io": {"flag": "perhaps"}})", "true or false");
  refused("[1]", "object");
}

TEST_F(OptionsJson, RefusesAFileThatIsNoJson) {
  const std::string path = ::testing::TempDir() + "options_test_bad.json";
  for (const std::string text : {"", "{", "{\"io\": {\"bs\": \"\xff\"}}", "nope"}) {
    std::ofstream(path) << text;
    const auto read = set.FromJsonFile(path);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ErrorCode::kRefused);
  }
  std::ofstream(path) << std::string(200'000, '[');
  EXPECT_FALSE(set.FromJsonFile(path));
}

TEST_F(OptionsJson, HelpNamesEveryFlag) {
  const std::string help = FormatHelp({"tool run", "Runs.", "", {}}, set);
  for (const OptionRow& row : set.rows()) {
    EXPECT_NE(help.find("--" + row.names.front()), std::string::npos) << row.Key();
  }
}

}  // namespace
}  // namespace penstock
