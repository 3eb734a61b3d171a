#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>

#include "models/k3/census/entropy/entropy.h"

namespace penstock::k3 {
namespace {

EntropyCensus Example() {
  EntropyCensus census;
  census.directory = "/models/<m>";
  census.identity = "0123";
  census.k3 = true;
  census.experts = 32;
  EntropyRow row;
  row.name = "layer 3";
  row.layer = 3;
  EntropyFigures& f = row.figures;
  f.form = EntropyForm::kBf16;
  f.tensors = 2;
  f.elements = 1000;
  f.bytes = 2000;
  f.sampled_tensors = 1;
  f.sampled = 500;
  f.zeros = 4;
  f.nonfinite = 1;
  f.exponent_bits = 2.5;
  f.rest_bits = 7.75;
  f.coded_bits = {16.0, 11.0, std::nullopt};
  f.tail = ops::TailIndex{1, 0.25, 16};
  f.exponents = {0, 0, 0.25, 0, 0.75, 0};
  census.groups = {row};
  row.name = "all";
  row.layer.reset();
  census.totals = {row};
  return census;
}

TEST(EntropyFormat, JsonFollowsItsSchema) {
  const auto json = EntropyJson(Example());
  EXPECT_EQ(json["schema"], "penstock.entropy.v1");
  EXPECT_EQ(json["checkpoint"], "0123");
  EXPECT_EQ(json["k3"], true);
  EXPECT_EQ(json["sample"]["blocks"], 16);
  EXPECT_EQ(json["sample"]["block_bytes"], 65536);
  EXPECT_EQ(json["sample"]["experts"], 8);
  EXPECT_EQ(json["sample"]["experts_of"], 32);
  EXPECT_FALSE(json.contains("tensors"));
  EXPECT_EQ(json["kinds"].size(), 0u);
  EXPECT_FALSE(json["totals"][0].contains("layer"));
  const auto row = json["groups"][0];
  EXPECT_EQ(row["name"], "layer 3");
  EXPECT_EQ(row["layer"], 3);
  EXPECT_EQ(row["form"], "BF16");
  EXPECT_EQ(row["tensors"], 2);
  EXPECT_EQ(row["elements"], 1000);
  EXPECT_EQ(row["bytes"], 2000);
  EXPECT_EQ(row["sampled_tensors"], 1);
  EXPECT_EQ(row["sampled_elements"], 500);
  EXPECT_EQ(row["zeros"], 4);
  EXPECT_EQ(row["nonfinite"], 1);
  EXPECT_EQ(row["entropy"]["exponent"], 2.5);
  EXPECT_EQ(row["entropy"]["rest"], 7.75);
  EXPECT_TRUE(row["entropy"]["code"].is_null());
  EXPECT_EQ(row["codecs"]["raw"]["ratio"], 1.0);
  EXPECT_EQ(row["codecs"]["chain"]["bits"], 11.0);
  EXPECT_TRUE(row["codecs"]["huffman"].is_null());
  EXPECT_EQ(row["tail"]["alpha"], 1.0);
  EXPECT_EQ(row["tail"]["error"], 0.25);
  EXPECT_EQ(row["tail"]["used"], 16);
  EXPECT_EQ(row["width"]["measured"], 10.5);
  EXPECT_EQ(row["width"]["bound"], 10.0);
  EXPECT_EQ(row["exponents"]["first"], 2);
  EXPECT_EQ(row["exponents"]["shares"], (std::vector<double>{0.25, 0, 0.75}));
}

TEST(EntropyFormat, RowsOfTensorsHaveNoExponents) {
  EntropyCensus census = Example();
  census.tensors = census.groups;
  EXPECT_FALSE(EntropyJson(census)["tensors"][0].contains("exponents"));
  EXPECT_TRUE(EntropyJson(census)["groups"][0].contains("exponents"));
  census.groups[0].figures.exponents.clear();
  EXPECT_TRUE(EntropyJson(census)["groups"][0]["exponents"].is_null());
}

TEST(EntropyFormat, TableHasARowForEachGroupOrTensor) {
  EntropyCensus census = Example();
  const std::string table = EntropyTable(census);
  for (const std::string part : {"layer 3", "0123", "10.50", "10.00", "50%", "1.00 ±0.25"}) {
    EXPECT_NE(table.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(table.back(), '\n');
  census.tensors = census.groups;
  census.tensors[0].name = "model.w";
  const std::string tensors = EntropyTable(census);
  EXPECT_NE(tensors.find("model.w"), std::string::npos);
  EXPECT_EQ(tensors.find("layer 3"), std::string::npos);
}

}  // namespace
}  // namespace penstock::k3
