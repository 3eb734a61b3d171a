#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "models/k3/experts/experts.h"

namespace penstock::k3 {

// How well the experts of one layer are predicted, and what came of it.
struct LayerPrediction {
  uint32_t layer = 0;
  // Measured lately; nothing where there never was a list.
  std::optional<double> next_recall;
  std::optional<double> previous_recall;
  const char* source = "";  // The list that reads are made from.
  Ahead ahead;
};

// A row a layer and their sum, for --stats; one line where nothing was predicted.
std::string PredictionTable(std::span<const LayerPrediction> layers);

}  // namespace penstock::k3
