#include "runtime/options/options.h"

#include <fstream>

#include <gtest/gtest.h>

#include "tests/runtime/options/sample.h"

namespace penstock {
namespace {

struct OptionsJson : ::testing::Test {
  OptionsJson() { set.Add("io", sample); }
  Sample sample;
  OptionSet set;
};

TEST_F(OptionsJson, ReadsBackWhatItWrites) {
  sample.iodepth = 77;
  sample.temp = 0.1;
  sample.bs.bytes = 12 * kKiB;
  sample.seed = UINT64_MAX;
  sample.prompt = "a\"b";
  sample.flag = true;
  const Json written = set.ToJson();
  Sample other;
  OptionSet other_set;
  other_set.Add("io", other);
  ASSERT_TRUE(other_set.FromJson(Json::parse(written.dump()), "test"));
  EXPECT_EQ(other_set.ToJson(), written);
  EXPECT_EQ(other.seed, UINT64_MAX);
  EXPECT_EQ(other.temp, 0.1);
}

// What the program finds itself unless it is given.
struct AutoSample {
  std::optional<uint32_t> chunk;
  ByteSize ring{0};

  template <class Self, class V>
  static void Visit(Self& c, V&& v) {
    v("chunk", c.chunk, "positions", 2, 100, "A number or auto.");
    v("ring", c.ring, "bytes", kZeroIsAuto, kGiB, "A size or auto.");
  }
};

TEST(Options, WritesAutoWhereNothingIsSaid) {
  AutoSample sample;
  OptionSet set;
  set.Add("", sample);
  EXPECT_EQ(set.ToJson(), Json::parse(R"({"chunk": "auto", "ring": "auto"})"));
  EXPECT_EQ(set.Find("chunk")->default_text, "auto");
  ASSERT_TRUE(set.FromJson(Json::parse(R"({"chunk": 7, "ring": "4k"})"), "f.json"));
  EXPECT_EQ(sample.chunk, 7u);
  EXPECT_EQ(sample.ring.bytes, 4 * kKiB);
  EXPECT_EQ(set.ToJson(), Json::parse(R"({"chunk": 7, "ring": "4k"})"));
  EXPECT_FALSE(set.Find("chunk")->assign("101"));
  EXPECT_FALSE(set.Find("chunk")->assign("1"));
  EXPECT_FALSE(set.Find("chunk")->assign("automatic"));
  EXPECT_EQ(sample.chunk, 7u);
  ASSERT_TRUE(set.FromJson(Json::parse(R"({"chunk": "auto", "ring": "auto"})"), "f.json"));
  EXPECT_EQ(sample.chunk, std::nullopt);
  EXPECT_EQ(sample.ring.bytes, 0u);
  EXPECT_TRUE(set.Find("ring")->assign("0"));
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

}  // namespace
}  // namespace penstock
