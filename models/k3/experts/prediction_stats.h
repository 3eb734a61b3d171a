#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "models/k3/experts/experts.h"

namespace penstock::k3 {

// How well the experts of one layer are predicted, and what came of it.
struct LayerPrediction {
  uint32_t layer = 0;
  double next_recall = 0;  // Measured lately.
  double previous_recall = 0;
  const char* source = "";  // The list that reads are made from.
  Ahead ahead;
};

// A row a layer and their sum, for --stats; one line where nothing was predicted.
std::string PredictionTable(std::span<const LayerPrediction> layers);

}  // namespace penstock::k3
