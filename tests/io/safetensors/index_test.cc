#include "io/safetensors/index.h"

#include <filesystem>
#include <map>

#include "io/safetensors/regular_file.h"
#include "tests/io/safetensors/shard.h"

namespace penstock::io {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

Status Parse(std::string_view json, Pairs* pairs = nullptr) {
  return ParseIndex(json, "i.json", [&](std::string_view tensor, std::string_view file) {
    if (pairs) pairs->emplace_back(tensor, file);
    return Status();
  });
}

TEST(Index, GivesEveryPairInOrder) {
  Pairs pairs;
  ASSERT_TRUE(Parse(
      R"({"a":[1,{"weight_map":3}],"weight_map":{"t\u0031":"f1","t0":"s\/f2"},"metadata":{}})",
      &pairs));
  EXPECT_EQ(pairs, (Pairs{{"t1", "f1"}, {"t0", "s/f2"}}));
}

TEST(Index, RefusesWhatIsNoIndex) {
  for (const char* text : {"", "[]", "{", "{\"weight_map\":", "{\"weight_map\":{}",
                           "{\"weight_map\":{}} {}", "{\"weight_map\":{\"a\"}}", "null"}) {
    SCOPED_TRACE(text);
    ExpectRefused(Parse(text), {"i.json"});
  }
  ExpectRefused(Parse("{}"), {"i.json", "weight_map"});
  ExpectRefused(Parse(R"({"weight_map":[]})"), {"i.json", "weight_map"});
  ExpectRefused(Parse(R"({"weight_map":{},"weight_map":{}})"), {"i.json", "weight_map", "twice"});
  ExpectRefused(Parse(R"({"weight_map":{"t":7}})"), {"i.json", "'t'"});
  ExpectRefused(Parse(R"({"weight_map":{"t":null}})"), {"i.json", "'t'"});
  ExpectRefused(Parse("{\"weight_map\":{\"t\xff\":\"f\"}}"), {"i.json", "UTF-8"});
  ExpectRefused(Parse(R"({"weight_map":{"t\u0000":"f"}})"), {"i.json", "'t\\x00'"});
}

TEST(Index, RefusesFilesOutsideItsDirectory) {
  ExpectRefused(Parse(R"({"weight_map":{"t":"../f"}})"), {"i.json", "'../f'"});
  ExpectRefused(Parse(R"({"weight_map":{"t":"\/etc\/passwd"}})"), {"i.json", "'/etc/passwd'"});
  ExpectRefused(Parse(R"({"weight_map":{"t":"a/../../f"}})"), {"i.json", "'a/../../f'"});
  ExpectRefused(Parse(R"({"weight_map":{"t":"f\u0000"}})"), {"i.json"});
  ExpectRefused(Parse(R"({"weight_map":{"t":""}})"), {"i.json"});
}

TEST(Index, AnErrorOfTheCallerEndsIt) {
  int calls = 0;
  const Status status =
      ParseIndex(R"({"weight_map":{"a":"f","b":"f"}})", "i.json", [&](auto, auto) -> Status {
        ++calls;
        return Refused("enough");
      });
  ExpectRefused(status, {"enough"});
  EXPECT_EQ(calls, 1);
}

TEST(Index, ReadsTheCorpus) {
  size_t files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(PENSTOCK_SOURCE_DIR "/tests/fuzz/corpus/index")) {
    const auto text = ReadWholeFile(entry.path(), 1 << 20);
    ASSERT_TRUE(text);
    (void)Parse(*text);
    ++files;
  }
  EXPECT_GE(files, 4u);
}

}  // namespace
}  // namespace penstock::io
