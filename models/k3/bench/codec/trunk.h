#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "models/k3/bench/codec/weights.h"
#include "runtime/notice.h"
#include "runtime/result.h"

namespace penstock::k3 {

// The bf16 matrices of a checkpoint in the order of a step, a stripe for each piece that a step
// reads, until `bytes` (rounded down to whole elements) are full: the last stripe is cut, and a
// smaller checkpoint begins again. `go_on` is called with the bytes read so far; false ends it with
// kCancelled. kRefused: it is no checkpoint; kFailed: the device.
Result<Weights> ReadTrunk(const std::string& directory, size_t bytes, const Notice& notice,
                          const std::function<bool(uint64_t done)>& go_on);

}  // namespace penstock::k3
