#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/pack.h"
#include "io/reader.h"
#include "runtime/result.h"
#include "runtime/size.h"

namespace penstock::k3 {

inline constexpr uint64_t kComparedBytes = kGiB;

// Whether a source is the one that the stripes of `manifest` were made from, as far as reading
// `budget` bytes of it tells. The identity has seen some blocks of each file; this compares the
// sums of decoded elements: of a source that is no larger all of them, of a larger one a chunk of
// every tensor in turn until the budget is used. It finds another training run, and a tensor that was
// replaced or scaled; a single other weight of a large source it may miss, and only `penstock verify
// --against` does not.
//
// `source` is where each stripe's elements lie (it may go on behind those of the manifest), `files`
// what Extent::file indexes. kRefused names stripe, file, and both sums.
Status CheckSameSource(const io::PackManifest& manifest, std::span<const io::Extent> source,
                       std::span<const std::string> files, uint64_t budget = kComparedBytes);

}  // namespace penstock::k3
