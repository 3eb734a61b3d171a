#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "runtime/result.h"

namespace penstock::io {

inline constexpr std::string_view kIndexName = "model.safetensors.index.json";
inline constexpr uint64_t kMaxIndexBytes = uint64_t{1} << 30;

// One entry of the index's `weight_map`: the tensor and the file that holds it, escapes decoded.
// The views live as long as the call.
using IndexEntry = std::function<Status(std::string_view tensor, std::string_view file)>;

// Reads the JSON of a model.safetensors.index.json front to back and calls `entry` for each pair
// of `weight_map`, in the order of the file; an error from `entry` ends it. Refuses what is not
// one JSON object in valid UTF-8, what has no `weight_map` or two, values that are no strings,
// tensor names with control characters and file names that leave the directory
// (io/safetensors/names.h). `index` is for messages. That no tensor occurs twice is for the caller
// to see, who keeps the names. Other keys of the index are skipped. Re-entrant.
Status ParseIndex(std::string_view json, std::string_view index, const IndexEntry& entry);

// The same for a file of at most kMaxIndexBytes.
Status ReadIndex(const std::string& path, const IndexEntry& entry);

}  // namespace penstock::io
