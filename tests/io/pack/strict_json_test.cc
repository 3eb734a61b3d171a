#include "io/pack/strict_json.h"

#include <array>

#include "tests/io/safetensors/shard.h"

namespace penstock::io {
namespace {

struct Read {
  uint64_t number = 0;
  std::string text;
  std::vector<uint64_t> list;
};

Result<Read> ReadAll(std::string_view json) {
  Read read;
  const std::array fields = {
      NumberField("number", "doc", read.number), TextField("text", "doc", read.text),
      ConstantField("constant", "doc", "c"),
      ListField("list", "doc", [&](JsonValue& value, size_t index) -> Status {
        EXPECT_EQ(index, read.list.size());
        if (value.get_uint64().get(read.list.emplace_back())) {
          return BadValue("doc", "list", "numbers");
        }
        return {};
      })};
  PENSTOCK_TRY_VOID(ReadDocument(json, "doc", fields));
  return read;
}

TEST(StrictJson, ReadsEachFieldInAnyOrder) {
  const auto read =
      ReadAll(R"({"list":[3,4],"text":"a\u00e9","constant":"c","number":18446744073709551615})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->number, UINT64_MAX);
  EXPECT_EQ(read->text, "a\xc3\xa9");
  EXPECT_EQ(read->list, (std::vector<uint64_t>{3, 4}));
}

TEST(StrictJson, RefusesWhatItDoesNotKnow) {
  const std::string rest = R"("text":"t","constant":"c","list":[]})";
  EXPECT_TRUE(ReadAll(R"({"number":1,)" + rest));
  ExpectRefused(ReadAll("{" + rest), {"doc", "'number'", "got none"});
  ExpectRefused(ReadAll(R"({"number":1,"number":1,)" + rest), {"doc", "'number'", "twice"});
  ExpectRefused(ReadAll(R"({"number":1,"other":1,)" + rest), {"doc", "'other'"});
  ExpectRefused(ReadAll(R"({"number":"1",)" + rest), {"doc", "'number'"});
  ExpectRefused(ReadAll(R"({"number":01,)" + rest), {"doc", "'number'"});
  ExpectRefused(ReadAll(R"({"number":null,)" + rest), {"doc", "'number'"});
  ExpectRefused(ReadAll(R"({"number":1,)" + rest + "1"), {"doc"});
  ExpectRefused(ReadAll(R"({"number":1,"text":"t","constant":"d","list":[]})"), {"'c'", "'d'"});
  ExpectRefused(ReadAll(R"({"number":1,"text":1,"constant":"c","list":[]})"), {"'text'"});
  ExpectRefused(ReadAll(R"({"number":1,"text":"t","constant":"c","list":{}})"), {"'list'"});
  ExpectRefused(ReadAll(R"({"number":1,"text":"t","constant":"c","list":[1 2]})"), {"doc"});
  ExpectRefused(ReadAll("[]"), {"doc"});
  ExpectRefused(ReadAll(""), {"doc"});
}

TEST(StrictJson, WritesTextThatIsReadBack) {
  std::string text;
  for (int c = 0; c < 128; ++c) text += static_cast<char>(c);
  text += "\xc3\xa9";
  std::string json = R"({"text":)";
  AppendJsonText(text, json);
  EXPECT_EQ(json.find('\n'), std::string::npos);
  std::string read;
  const std::array fields = {TextField("text", "doc", read)};
  const Status status = ReadDocument(json + "}", "doc", fields);
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(read, text);
}

}  // namespace
}  // namespace penstock::io
