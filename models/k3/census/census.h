#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "io/checkpoint.h"
#include "models/k3/census/place.h"
#include "models/k3/config/shape.h"
#include "runtime/notice.h"
#include "runtime/result.h"

namespace penstock::k3 {

// Tensors counted together.
struct CensusCount {
  uint64_t tensors = 0;
  uint64_t bytes = 0;
  void Add(uint64_t more) {
    ++tensors;
    bytes += more;
  }
};

// Tensors of one dtype and shape whose names differ in numbers only.
struct CensusPattern {
  std::string name;  // Each component of digits as "*".
  io::Dtype dtype = io::Dtype::kU8;
  std::vector<uint64_t> shape;
  CensusCount count;
};

using CensusCounts = std::array<CensusCount, kCensusKinds>;

struct CensusLayer {
  bool kda = false;  // Else MLA.
  bool moe = false;  // Else dense.
  CensusCounts kinds;
};

// What makes a directory a K3 checkpoint, and what follows from it.
struct CensusModel {
  Shape shape;
  std::vector<uint32_t> eos;
  std::vector<CensusLayer> layers;
  CensusCounts ends;        // Embedding, head, last vectors, and what is outside the text model.
  uint64_t parameters = 0;  // Of the text model; two in a byte of MXFP4 codes, scales not counted.
  // Payload that a step of one position reads with nothing kept in memory.
  uint64_t step_trunk_bytes = 0;   // All of every layer but the routed experts.
  uint64_t step_head_bytes = 0;    // Head and last vectors.
  uint64_t step_expert_bytes = 0;  // The chosen experts.
  uint64_t step_row_bytes = 0;     // One row of the embedding.
  std::vector<std::pair<std::string, std::string>> read;      // From config.json: key, value.
  std::vector<std::pair<std::string, std::string>> inferred;  // What follows, and from what.
};

// What a directory of safetensors files holds, from headers, index and config alone.
struct Census {
  std::string directory;
  bool has_index = false;
  std::vector<std::string> files;  // Absolute.
  std::string identity;            // io/safetensors/identity.h
  CensusCount total;
  std::vector<std::pair<io::Dtype, CensusCount>> dtypes;
  std::vector<CensusPattern> patterns;  // In order of name.
  std::optional<CensusModel> model;
  std::string not_k3;  // Why there is no model, in one sentence; "" when there is one.
};

// Refused as io::Checkpoint::Open refuses. A directory without a K3 config, or whose tensors are
// not those of its config, is no error: its tensors are counted and `not_k3` gives the reason.
Result<Census> TakeCensus(const std::string& directory, const Notice& notice);

// For people: lines of at most 100 columns where names allow, ending with a newline.
std::string CensusTable(const Census& census);
nlohmann::ordered_json CensusJson(const Census& census);

// "3-5,8": whole numbers in order, runs shortened.
std::string Ranges(const std::vector<size_t>& numbers);

}  // namespace penstock::k3
