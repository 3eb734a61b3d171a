#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "models/k3/config/options.h"

namespace penstock::k3 {

// Settings of the planner under a name, for a class of machines. Zero and "auto" leave a value to
// the planner. Which values are allowed is a row of PipelineOptions.
struct Preset {
  const char* name;
  uint64_t memory;  // Bytes of the process.
  uint64_t ring;    // Bytes.
  uint64_t depth;   // Layers.
  const char* pin;
  const char* decode;
  bool frugal;  // The smallest ring and cache that work, and no pins.
  const char* summary;
};

std::span<const Preset> Presets();

// The preset of this name, which is one of them.
const Preset& FindPreset(const std::string& name);

// The options with what the preset says where nothing was asked for: a value that was given wins.
PipelineOptions ApplyPreset(PipelineOptions options);

// Who set the budget of such options: "--memory", or the preset by name.
std::string BudgetName(const PipelineOptions& options);

// For people: a line for each.
std::string PresetTable();

}  // namespace penstock::k3
