#pragma once

#include <memory>
#include <vector>

#include "io/reader.h"
#include "models/k3/config/shape.h"
#include "models/k3/weights/catalogue.h"
#include "ops/kernels/kernels.h"
#include "runtime/memory/region.h"
#include "runtime/result.h"

namespace penstock::k3 {

// The small vectors of one layer as f32, in memory for the whole run; null where the layer has
// none.
struct LayerVectors {
  const float* input_norm = nullptr;   // [H]
  const float* post_norm = nullptr;    // [H]
  const float* attn_factor = nullptr;  // [H] norm * proj of the residual mix before attention
  const float* mlp_factor = nullptr;   // [H] the same before the MLP

  const float* q_conv = nullptr;  // [P][taps]
  const float* k_conv = nullptr;
  const float* v_conv = nullptr;
  const float* decay_scale = nullptr;  // [heads] exp(A_log)
  const float* dt_bias = nullptr;      // [P]
  const float* o_norm = nullptr;       // [D]

  const float* q_a_norm = nullptr;   // [q_rank]
  const float* kv_a_norm = nullptr;  // [kv_rank]

  const float* router_bias = nullptr;  // [E]
  const float* latent_norm = nullptr;  // [L]
};

// Everything that stays in memory by default: norms and small vectors, read once at start.
class Resident {
 public:
  static size_t Bytes(const Catalogue& catalogue);
  // Reads through `reader`; fails with the reader's error.
  static Result<std::unique_ptr<Resident>> Load(const Catalogue& catalogue, io::Reader& reader,
                                                const ops::Kernels& kernels);

  const LayerVectors& layer(size_t index) const { return layers_[index]; }
  const float* norm = nullptr;        // [H]
  const float* out_factor = nullptr;  // [H]

 private:
  class Loader;
  std::vector<LayerVectors> layers_;
  HugeRegion memory_;
};

}  // namespace penstock::k3
