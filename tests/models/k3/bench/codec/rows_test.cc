#include "models/k3/bench/codec/rows.h"

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace penstock::k3 {
namespace {

std::vector<CodecRow> Rows() {
  CodecRow chain;
  chain.codec = "chain+sum";
  chain.isa = "avx2";
  chain.data = "syn";
  chain.ratio = 0.67;
  chain.gbps_best = 10;
  chain.gbps_median = 9;
  chain.memcpy_best = 12.5;
  chain.memcpy_median = 12;
  chain.zstd1_ratio = 7.5;
  chain.checksum = true;
  CodecRow copy;
  copy.codec = "memcpy";
  copy.memcpy_best = copy.memcpy_median = copy.gbps_best = copy.gbps_median = 12.5;
  return {chain, copy};
}

TEST(CodecRows, JsonHasEveryKeyInEveryRow) {
  const Json json = CodecJson(Rows());
  ASSERT_EQ(json.size(), 2u);
  for (const Json& row : json) {
    std::set<std::string> keys;
    for (const auto& [key, value] : row.items()) keys.insert(key);
    EXPECT_EQ(keys, (std::set<std::string>{"codec", "data", "ratio", "gbps_best", "gbps_median",
                                           "memcpy_best", "memcpy_median", "memcpy_ratio",
                                           "zstd1_ratio", "x_one_thread", "isa", "checksum",
                                           "threads", "clock", "bytes", "spread", "cpu_lost"}));
  }
  EXPECT_EQ(json[0]["codec"], "chain+sum");
  EXPECT_EQ(json[0]["gbps_best"], 10.0);
  EXPECT_EQ(json[0]["gbps_median"], 9.0);
  EXPECT_EQ(json[0]["memcpy_best"], 12.5);
  EXPECT_EQ(json[0]["memcpy_median"], 12.0);
  EXPECT_EQ(json[0]["ratio"], 0.67);
  EXPECT_EQ(json[0]["zstd1_ratio"], 7.5);
  EXPECT_EQ(json[0]["checksum"], true);
  EXPECT_TRUE(json[0]["x_one_thread"].is_null());
  EXPECT_TRUE(json[1]["zstd1_ratio"].is_null());
}

TEST(CodecRows, TheTableHasALineForEachRowBelowItsHead) {
  const std::string table = CodecRowsTable(Rows());
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 2 + 2);
  EXPECT_NE(table.find("\nchain+sum "), std::string::npos);
  EXPECT_NE(table.find("0.800"), std::string::npos);  // 10 / 12.5
  EXPECT_NE(table.find("0.750"), std::string::npos);  // 9 / 12
  EXPECT_NE(table.find("7.50"), std::string::npos);
}

}  // namespace
}  // namespace penstock::k3
