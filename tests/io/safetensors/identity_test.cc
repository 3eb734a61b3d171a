#include "io/safetensors/identity.h"

#include <filesystem>
#include <set>

#include "tests/io/safetensors/shard.h"

namespace penstock::io {
namespace {

// The tensors of two small files, made from parts that a test can change one by one.
struct Parts {
  std::string config = R"({"text_config": {"a": 1}, "other": 2})";
  std::string name = "t";
  std::string first = std::string(4, 'a');
  std::string second = std::string(200000, 'b');
};

std::string IdentityOfParts(const Parts& parts) {
  const ScratchDirectory scratch;
  const auto shard = [](const std::string& name, const std::string& data) {
    const std::string bytes = std::to_string(data.size());
    return ShardBytes("{\"" + name + "\":{\"dtype\":\"U8\",\"shape\":[" + bytes +
                          "],\"data_offsets\":[0," + bytes + "]}}",
                      data);
  };
  if (!parts.config.empty()) scratch.Write("config.json", parts.config);
  scratch.Write("a.safetensors", shard(parts.name, parts.first));
  scratch.Write("b.safetensors", shard("u", parts.second));
  const auto checkpoint = Checkpoint::Open(scratch.path(), {});
  EXPECT_TRUE(checkpoint);
  const auto identity = (*checkpoint)->Identity();
  EXPECT_TRUE(identity) << identity.error().message;
  return *identity;
}

TEST(Identity, SeesConfigHeadersAndData) {
  std::set<std::string> seen;
  const std::string base = IdentityOfParts({});
  EXPECT_EQ(base.size(), 32u);
  EXPECT_EQ(base, IdentityOfParts({}));  // Another directory, the same checkpoint.
  seen.insert(base);
  Parts config, name, small, large, none;
  config.config = R"({"text_config": {"a": 2}, "other": 2})";
  name.name = "v";
  small.first[2] = 'x';
  large.second.assign(200000, 'c');
  none.config.clear();
  for (const Parts& parts : {config, name, small, large, none}) {
    EXPECT_TRUE(seen.insert(IdentityOfParts(parts)).second);
  }
}

TEST(Identity, IgnoresTheRestOfTheConfig) {
  Parts other;
  other.config = R"({"vision": {}, "text_config": {"a": 1}})";
  EXPECT_EQ(IdentityOfParts({}), IdentityOfParts(other));
}

// A change of 1 byte in 200,000 must not be seen always, but the blocks do cover a third of it.
TEST(Identity, DrawsBlocksOverAllOfTheData) {
  const std::string base = IdentityOfParts({});
  int seen = 0;
  for (size_t at = 0; at < 200000; at += 2000) {
    Parts parts;
    parts.second[at] = 'x';
    seen += IdentityOfParts(parts) != base;
  }
  EXPECT_GT(seen, 10);
  EXPECT_LT(seen, 60);
}

TEST(Identity, ReadsTheEmbeddedCheckpoint) {
  const auto checkpoint = Checkpoint::Open(kTiny, {});
  ASSERT_TRUE(checkpoint);
  const auto identity = (*checkpoint)->Identity();
  ASSERT_TRUE(identity) << identity.error().message;
  EXPECT_EQ(identity->size(), 32u);
  EXPECT_EQ(identity->find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST(Identity, AFileThatChangedSinceIsAnError) {
  const ScratchDirectory scratch;
  scratch.Write("a.safetensors", ByteShard({"t"}));
  const auto checkpoint = Checkpoint::Open(scratch.path(), {});
  ASSERT_TRUE(checkpoint);
  scratch.Write("a.safetensors", "short");
  const auto identity = (*checkpoint)->Identity();
  ASSERT_FALSE(identity);
  EXPECT_EQ(identity.error().code, ErrorCode::kFailed);
  EXPECT_NE(identity.error().message.find("a.safetensors"), std::string::npos);
}

TEST(Identity, TextConfigIsTheInnerObjectAsStored) {
  EXPECT_EQ(*TextConfig(R"({"x":1,"text_config":{"b": [1, {}] },"y":2})", "c"),
            R"({"b": [1, {}] })");
  EXPECT_EQ(*TextConfig(R"({"x": 1})", "c"), R"({"x": 1})");
  ExpectRefused(TextConfig("[]", "c.json"), {"c.json"});
  ExpectRefused(TextConfig(R"({"text_config":7})", "c.json"), {"c.json"});
}

}  // namespace
}  // namespace penstock::io
