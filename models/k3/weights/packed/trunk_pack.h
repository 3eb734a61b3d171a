#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/pack.h"
#include "models/k3/weights/pass.h"
#include "runtime/result.h"

namespace penstock::k3 {

// The trunk of a checkpoint as `penstock pack` writes it: a tensor for each product of a pass, a
// stripe for each of its extents, in order of use.
std::vector<io::PackTensor> TensorsOf(const Pass& pass, const Shape& shape);
std::vector<io::PlannedStripe> StripesOf(const Pass& pass);

// A pack of this checkpoint, and the pass that reads it.
struct TrunkPack {
  std::unique_ptr<io::Pack> pack;
  Pass pass;
};

// Opens the pack in `directory`. Its stripes become the extents of the pass; their file is number
// `file`. kRefused when it is not a trunk's, belongs to another checkpoint (both identities are named)
// or was cut in another way than its parameters say.
Result<TrunkPack> OpenTrunkPack(const std::string& directory, const std::string& checkpoint_id,
                                const Catalogue& catalogue, const Shape& shape, io::FileId file);

}  // namespace penstock::k3
