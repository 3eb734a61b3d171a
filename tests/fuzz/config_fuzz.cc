// The configuration of a model. A shape that is accepted must be usable as it stands: the layer
// list covers every layer, and no product of widths overflows.
// covers: models/k3/config/ io/safetensors/names

#include <cstdint>
#include <string>

#include "models/k3/config/shape.h"
#include "runtime/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string json(reinterpret_cast<const char*>(data), size);
  const auto shape = penstock::k3::ParseShape(json, "fuzz.json");
  if (!shape) {
    PENSTOCK_CHECK(!shape.error().message.empty());
    return 0;
  }
  PENSTOCK_CHECK(shape->layers > 0 && shape->kda.size() == shape->layers);
  PENSTOCK_CHECK(shape->hidden > 0 && shape->vocab > 0 && shape->residual_block > 0);
  PENSTOCK_CHECK(shape->norm_eps > 0 && shape->conv_taps > 0 && shape->moe_freq > 0);
  PENSTOCK_CHECK(shape->top_k <= shape->experts);
  PENSTOCK_CHECK(shape->kda_total() < (size_t{1} << 32) &&
                 shape->mla_q_total() < (size_t{1} << 32));
  return 0;
}
