#include "io/engines/decorators/fault_script.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

namespace penstock::io {
namespace {

EngineRead ReadAt(FileId file, uint64_t offset, uint32_t bytes, uint32_t tag = 0) {
  EngineRead read;
  read.file = file;
  read.offset = offset;
  read.bytes = bytes;
  read.tag = tag;
  return read;
}

TEST(FaultScript, ReadsEveryKindAndSelector) {
  const auto script = ParseFaultScript(
      "short@7,eio@layer=17,delay=5ms,eagain@every=3@file=2,eintr@offset=8k,reorder,"
      "reorder=100us@tag=4,seed=9",
      "layer");
  ASSERT_TRUE(script) << script.error().message;
  ASSERT_EQ(script->rules.size(), 7u);
  EXPECT_EQ(script->seed, 9u);
  EXPECT_EQ(script->rules[0].kind, FaultKind::kShort);
  EXPECT_EQ(script->rules[0].nth, 7u);
  EXPECT_EQ(script->rules[1].kind, FaultKind::kEio);
  EXPECT_EQ(script->rules[1].tag, 17u);
  EXPECT_EQ(script->rules[2].kind, FaultKind::kDelay);
  EXPECT_EQ(script->rules[2].time.ns, 5'000'000u);
  EXPECT_EQ(script->rules[3].kind, FaultKind::kEagain);
  EXPECT_EQ(script->rules[3].every, 3u);
  EXPECT_EQ(script->rules[3].file, 2u);
  EXPECT_EQ(script->rules[4].kind, FaultKind::kEintr);
  EXPECT_EQ(script->rules[4].offset, 8192u);
  EXPECT_EQ(script->rules[5].kind, FaultKind::kReorder);
  EXPECT_GT(script->rules[5].time.ns, 0u);
  EXPECT_EQ(script->rules[6].tag, 4u);
  EXPECT_TRUE(ParseFaultScript("", "layer")->rules.empty());
}

TEST(FaultScript, SelectsByNumberPlaceAndTag) {
  const auto matches = [](const char* clause, const EngineRead& read, uint64_t number) {
    return ParseFaultScript(clause, "layer")->rules[0].Matches(read, number);
  };
  const EngineRead read = ReadAt(2, 8192, 4096, 17);
  EXPECT_TRUE(matches("eio", read, 1));
  EXPECT_TRUE(matches("eio@7", read, 7));
  EXPECT_FALSE(matches("eio@7", read, 14));
  EXPECT_TRUE(matches("eio@every=7", read, 14));
  EXPECT_FALSE(matches("eio@every=7", read, 15));
  EXPECT_TRUE(matches("eio@file=2", read, 1));
  EXPECT_FALSE(matches("eio@file=1", read, 1));
  EXPECT_TRUE(matches("eio@layer=17", read, 1));
  EXPECT_FALSE(matches("eio@layer=18", read, 1));
  EXPECT_TRUE(matches("eio@offset=8192", read, 1));
  EXPECT_TRUE(matches("eio@offset=12287", read, 1));
  EXPECT_FALSE(matches("eio@offset=12288", read, 1));
  EXPECT_FALSE(matches("eio@offset=8191", read, 1));
  EXPECT_FALSE(matches("eio@file=2@every=2", read, 1));
}

TEST(FaultScript, NamesTheNearestWord) {
  const auto message = [](const char* text) {
    const auto script = ParseFaultScript(text, "layer");
    EXPECT_FALSE(script) << text;
    if (script) return std::string();
    EXPECT_EQ(ExitCode(script.error()), 2);
    return script.error().message;
  };
  EXPECT_NE(message("shrt@7").find("\"short\""), std::string::npos);
  EXPECT_NE(message("delai=5ms").find("\"delay\""), std::string::npos);
  EXPECT_NE(message("eio@layr=3").find("\"layer\""), std::string::npos);
  EXPECT_NE(message("eio@fil=3").find("\"file\""), std::string::npos);
  EXPECT_NE(message("quux").find("eintr"), std::string::npos);
}

TEST(FaultScript, RefusesWhatItCannotRead) {
  for (const char* text :
       {",",          "short,",      "short@",       "short@0",
        "short@x",    "short@-1",    "short@7x",     "eio=5",
        "delay",      "delay=",      "delay=5",      "delay=2m",
        "delay=-1ms", "reorder=",    "eio@every=0",  "eio@every",
        "eio@every=", "eio@offset=", "eio@offset=x", "eio@file=99999999999999999999999",
        "seed",       "seed=",       "seed=1@2",     "eio@=3",
        "@7",         "=5ms",        "short@7@",     "eio @7",
        "EIO"}) {
    const auto script = ParseFaultScript(text, "layer");
    ASSERT_FALSE(script) << text;
    EXPECT_EQ(ExitCode(script.error()), 2) << text;
  }
}

TEST(FaultScript, SurvivesRandomText) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  const std::string letters = "shorteiodlayagn@,=0579mskx ";
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (size_t n = random() % 20; n > 0; --n) text += letters[random() % letters.size()];
    const auto script = ParseFaultScript(text, "layer");
    if (script) continue;
    EXPECT_EQ(ExitCode(script.error()), 2);
  }
}

}  // namespace
}  // namespace penstock::io
