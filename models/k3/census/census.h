#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "io/checkpoint.h"
#include "models/k3/shape.h"
#include "runtime/notice.h"
#include "runtime/result.h"

namespace penstock::k3 {

// Tensors that are counted together.
struct CensusCount {
  uint64_t tensors = 0;
  uint64_t bytes = 0;
  void Add(uint64_t more) {
    ++tensors;
    bytes += more;
  }
};

// What is in a layer, or in the ends of the model (layer -1) or outside the text model (-2).
struct CensusRow {
  int64_t layer = 0;
  std::string attention;                     // "KDA", "MLA", "" outside the layers.
  std::string mlp;                           // "dense", "MoE", "".
  std::map<std::string, CensusCount> kinds;  // By what it is: "attention", "experts", "norms", ...
  CensusCount total;
};

// What a directory of safetensors files holds, from headers and config alone. A directory that is
// no K3 checkpoint has tensors, dtypes and groups, and `not_k3` says why it is none.
struct Census {
  std::string directory;
  bool has_index = false;
  std::vector<std::string> files;  // Names, without the directory.
  CensusCount total;
  std::map<std::string, CensusCount> dtypes;  // By safetensors' spelling.
  std::string identity;
  std::optional<Shape> shape;
  std::string not_k3;
  std::vector<CensusRow> rows;                // Layers in order, then ends, then outside.
  std::map<std::string, CensusCount> groups;  // By the first parts of the name; K3 or not.
  std::vector<std::pair<std::string, std::string>> read;      // From config.json: key, value.
  std::vector<std::pair<std::string, std::string>> inferred;  // Follows from it: what, how much.
  uint64_t step_trunk_bytes = 0;   // Payload that a step reads with nothing cached: layers,
  uint64_t step_head_bytes = 0;    // head,
  uint64_t step_expert_bytes = 0;  // experts of one position.
};

// Refused as io::Checkpoint::Open refuses; a config or a tensor that is not K3's is no error here.
Result<Census> TakeCensus(const std::string& directory, const Notice& notice);

std::string CensusTable(const Census& census);  // For people, lines of at most 100 columns.
nlohmann::ordered_json CensusJson(const Census& census);

// One line for each tensor: name, dtype, shape, file, offset, bytes, separated by tabs.
Result<std::string> CensusTensors(const io::Checkpoint& checkpoint);

}  // namespace penstock::k3
