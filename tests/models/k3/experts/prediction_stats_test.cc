#include "models/k3/experts/prediction_stats.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace penstock::k3 {
namespace {

size_t Lines(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(PredictionStats, ARowALayerAndTheirSum) {
  std::vector<LayerPrediction> layers(3);
  EXPECT_EQ(Lines(PredictionTable(layers)), 1u) << "nothing was predicted";
  layers[1].layer = 4;
  layers[1].next_recall = 0.625;
  layers[1].source = "next";
  layers[1].ahead.issued = 7;
  layers[2].ahead.issued = 12;
  const std::string table = PredictionTable(layers);
  EXPECT_EQ(Lines(table), 5u);
  EXPECT_NE(table.find("0.625"), std::string::npos);
  EXPECT_NE(table.find(" 19 "), std::string::npos);
}

}  // namespace
}  // namespace penstock::k3
