#include "models/k3/bench/codec/trunk.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "io/checkpoint.h"
#include "io/options.h"
#include "io/read_now.h"
#include "models/k3/config/shape.h"
#include "models/k3/weights/catalogue.h"
#include "models/k3/weights/pass.h"

namespace penstock::k3 {
namespace {

// Through the page cache: what is timed later is memory.
io::IoOptions PlainReads() {
  io::IoOptions options;
  options.ioengine = "pread";
  options.direct = "0";
  return options;
}

}  // namespace

Result<Weights> ReadTrunk(const std::string& directory, size_t bytes, const Notice& notice,
                          const std::function<bool(uint64_t done)>& go_on) {
  PENSTOCK_TRY(const Config config, ReadConfig(directory));
  PENSTOCK_TRY(const auto checkpoint, io::Checkpoint::Open(directory, notice));
  PENSTOCK_TRY(const Catalogue catalogue, Catalogue::Build(*checkpoint, config.shape));
  const Pass pass = Pass::Build(catalogue, config.shape, kStripeBytes);
  PENSTOCK_TRY(const auto reader, io::MakeReader(PlainReads(), catalogue.files(), {}, notice));

  Weights weights;
  weights.name = "trunk";
  weights.bytes = bytes / 2 * 2;
  PENSTOCK_TRY(weights.memory, HugeRegion::Map(weights.bytes));
  size_t at = 0;
  for (size_t i = 0; at < weights.bytes; i = (i + 1) % pass.extents().size()) {
    if (!go_on(at)) return Cancelled("stopped while the checkpoint was read");
    PENSTOCK_TRY(const BufferRef piece, io::ReadNow(*reader, pass.extents()[i].extent));
    const size_t taken = std::min<size_t>(piece.size(), weights.bytes - at);
    std::memcpy(weights.memory.data() + at, piece.data(), taken);
    weights.stripes.emplace_back(weights.memory.data() + at, taken);
    at += taken;
  }
  return weights;
}

}  // namespace penstock::k3
