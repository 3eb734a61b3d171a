#include "io/safetensors/names.h"

#include <algorithm>
#include <random>

#include "tests/io/safetensors/shard.h"

namespace penstock::io {
namespace {

TEST(Names, QuotesForOneLine) {
  EXPECT_EQ(Quoted("a.b"), "'a.b'");
  EXPECT_EQ(Quoted(std::string_view("a\0\n", 3)), "'a\\x00\\x0a'");
  const std::string longer = Quoted(std::string(100000, 'a') + "end");
  EXPECT_LT(longer.size(), 300u);
  EXPECT_NE(longer.find("end'"), std::string::npos);
}

TEST(Names, CutsLongNamesBetweenCodePoints) {
  for (size_t shift = 0; shift < 4; ++shift) {
    std::string name(shift, 'a');
    while (name.size() < 600) name += "\xe2\x82\xac";  // Three bytes each.
    const std::string quoted = Quoted(name);
    const size_t dots = quoted.find("...");
    ASSERT_NE(dots, std::string::npos);
    EXPECT_EQ((dots - 1 - shift) % 3, 0u);
    EXPECT_EQ(quoted[dots + 3], '\xe2');
  }
}

TEST(Names, RefusesFilesOutsideTheDirectory) {
  for (const char* name : {"", "/etc/passwd", "..", "../a", "a/../../b", "a/..", "./a", "a//b",
                           "a/", "/", ".", "a\nb"}) {
    SCOPED_TRACE(name);
    ExpectRefused(CheckFileName(name, "i.json"), {"i.json", Quoted(name)});
  }
  ExpectRefused(CheckFileName(std::string_view("a\0b", 3), "i.json"), {"i.json"});
  for (const char* name : {"a.safetensors", "sub/a.safetensors", "..a", "a..b", "..."}) {
    EXPECT_TRUE(CheckFileName(name, "i.json")) << name;
  }
}

TEST(Names, NumbersInOrderAndFindsEachName) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::vector<std::string> names = {"", ".", "0", "0.", ".0", "1.2.3", "a.1.b", "a.1.", "a..b"};
  for (int i = 0; i < 2000; ++i) {
    std::string name;
    for (int parts = static_cast<int>(random() % 6); parts >= 0; --parts) {
      name += std::array{"layers", "7", "12", "w1", "x", ""}[random() % 6];
      if (parts) name += '.';
    }
    names.push_back(name);
  }
  TensorNames table;
  std::vector<TensorNames::Id> ids;
  for (const std::string& name : names) ids.push_back(table.Intern(name));
  table.Sort();
  for (size_t i = 0; i < names.size(); ++i) {
    const auto id = table.Renumbered(ids[i]);
    EXPECT_EQ(std::string(table.group(id)).append(table.leaf(id)), names[i]);
    EXPECT_EQ(table.Find(names[i]), id);
  }
  EXPECT_FALSE(table.Find("layers.7.absent"));
  EXPECT_FALSE(table.Find("absent"));
}

TEST(Names, SharesWhatTensorsOfOneExpertHaveInCommon) {
  TensorNames table;
  for (int e = 0; e < 1000; ++e) {
    for (const char* leaf : {"w1.weight_packed", "w1.weight_scale", "w2.weight_packed",
                             "w2.weight_scale", "w3.weight_packed", "w3.weight_scale"}) {
      table.Intern("language_model.model.layers.92.block_sparse_moe.experts." + std::to_string(e) +
                   "." + leaf);
    }
  }
  table.Sort();
  EXPECT_LT(table.bytes(), 6000u * 14);
}

}  // namespace
}  // namespace penstock::io
