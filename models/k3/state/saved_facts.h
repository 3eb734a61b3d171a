#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/text/text_model.h"
#include "runtime/options/options.h"
#include "runtime/result.h"

namespace penstock::k3 {

inline constexpr const char* kStateSchema = "penstock.state.v1";
// Enough for the longest context that a config may have; a text above it is refused unparsed.
inline constexpr size_t kMostStateFacts = size_t{256} << 20;

// A sequence as far as its ids are known.
struct SavedSequence {
  std::vector<text::TokenId> ids;  // Those that the state has consumed, then those it has not.
  size_t prompt = 0;               // So many of them were given; the others were chosen,
  Json settings = Json::object();  // by these settings: numbers, switches and texts in UTF-8.
  std::vector<double> log_probabilities;  // None, or one of each chosen id: finite, at most 0.
};

// What the sizes of a payload follow from.
struct StateShape {
  uint64_t kda_layers = 0;
  uint64_t kda_heads = 0;
  uint64_t kda_width = 0;
  uint64_t conv_taps = 0;
  uint64_t mla_layers = 0;
  uint64_t page_width = 0;
  bool operator==(const StateShape&) const = default;
};

// Whose state it is.
struct StateOwner {
  std::string config;         // ConfigDigest.
  std::string checkpoint_id;  // io::Checkpoint::Identity.
};

// All that a saved state says of itself. As JSON, on one line:
//   schema           kStateSchema
//   config           16 hex digits
//   checkpoint_id    32 hex digits
//   shape            StateShape, by its names
//   position         tokens consumed, from 1
//   prompt           SavedSequence::prompt
//   settings         an object of numbers, switches and texts
//   log_probabilities, ids
struct SavedFacts {
  StateOwner owner;
  StateShape shape;
  uint64_t position = 0;
  SavedSequence sequence;
};

// XXH3-64, as 16 hex digits, of the text config as stored (Config::text_json): every number in it
// decides what the weights mean, so none is left out.
std::string ConfigDigest(std::string_view text_config);

std::string FormatFacts(const SavedFacts& facts);

// Refuses, with what was expected and found, all that FormatFacts does not write: `file` is for
// messages. Re-entrant.
Result<SavedFacts> ParseFacts(std::string_view text, const std::string& file);

}  // namespace penstock::k3
