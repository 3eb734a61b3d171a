#include <gtest/gtest.h>

#include "models/k3/census/census.h"
#include "tests/models/k3/config/tiny_checkpoint.h"

namespace penstock::k3 {
namespace {

TEST(CensusFormat, JsonAgreesWithTheStruct) {
  const auto census = TakeCensus(kTiny, {});
  ASSERT_TRUE(census);
  const auto json = CensusJson(*census);
  EXPECT_EQ(json["tensors"], 1770);
  EXPECT_EQ(json["checkpoint"], census->identity);
  EXPECT_EQ(json["dtypes"]["U8"]["tensors"], 8 * 32 * 6);
  EXPECT_EQ(json["k3"]["layers"].size(), 9u);
  EXPECT_EQ(json["k3"]["layers"][8]["attention"], "MLA");
  EXPECT_EQ(json["k3"]["step_bytes"]["trunk"], census->model->step_trunk_bytes);
  EXPECT_EQ(json["k3"]["read"]["linear_attn_config.head_dim"], "64");
  EXPECT_EQ(json["k3"]["read"]["eos_token_id"], std::vector<int>{1794});
  EXPECT_FALSE(json.contains("not_k3"));
}

TEST(CensusFormat, TableHasTheNumbers) {
  const auto census = TakeCensus(kTiny, {});
  ASSERT_TRUE(census);
  const std::string table = CensusTable(*census);
  for (const std::string& part :
       {census->identity, std::string("7,245,216"), std::string("layers 0"),
        std::string("~model.layers.*.block_sparse_moe.experts.*.w2.weight_scale"),
        std::string("64 values stored, the first 3 used")}) {
    EXPECT_NE(table.find(part), std::string::npos) << part << table;
  }
  EXPECT_EQ(table.back(), '\n');
}

TEST(CensusFormat, ShortensRuns) {
  EXPECT_EQ(Ranges({}), "none");
  EXPECT_EQ(Ranges({3}), "3");
  EXPECT_EQ(Ranges({3, 4}), "3,4");
  EXPECT_EQ(Ranges({0, 1, 2, 5, 7, 8, 9, 10}), "0-2,5,7-10");
}

}  // namespace
}  // namespace penstock::k3
