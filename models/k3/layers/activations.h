#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/k3/config/shape.h"
#include "runtime/memory/region.h"
#include "runtime/result.h"

namespace penstock::k3 {

// Every vector of one position between embedding and logits, allocated once. f32, each at a 64-byte
// boundary. Letters as in shape.h; P = kda_heads * kda_width, D = kda_width.
// Ownership: points into one region that it owns. Threads: who may write what follows the flow of a
// step (layers/flow.h); there is one writer at a time for each vector or slice.
class Activations {
 public:
  static Result<Activations> Create(const Shape& shape);
  static size_t Bytes(const Shape& shape);

  // The residual stream.
  float* acc = nullptr;     // [H] running sum of the current block; the embedding row at first
  float* blocks = nullptr;  // [most blocks][H] finished ones, oldest first
  float* mixed = nullptr;   // [H] u, the mix of blocks and acc
  float* x = nullptr;       // [H] rms_norm(u), the input of a sub-layer or of the head
  float* y = nullptr;       // [H] output of a sub-layer

  // KDA.
  float* kda_q = nullptr;    // [P] projected
  float* kda_k = nullptr;    // [P]
  float* kda_v = nullptr;    // [P]
  float* conv_q = nullptr;   // [P] convolved, then normalised
  float* conv_k = nullptr;   // [P]
  float* conv_v = nullptr;   // [P]
  float* decay_a = nullptr;  // [D]
  float* decay_b = nullptr;  // [P]
  float* alpha = nullptr;    // [P]
  float* beta = nullptr;     // [heads]
  float* gate_a = nullptr;   // [D] low-rank gate only

  // Both kinds of attention: gate and attended values before the output projection.
  float* gate = nullptr;      // [max(P, mla value total)]
  float* attended = nullptr;  // [max(P, mla value total)]

  // MLA.
  float* q_a = nullptr;             // [q_rank]
  float* q_latent = nullptr;        // [q_rank] normed
  float* kv_a = nullptr;            // [kv_rank + rope]
  float* mla_q = nullptr;           // [mla heads][nope + rope]
  float* latent_scratch = nullptr;  // [groups of heads][latent_scratch_floats]
  size_t latent_scratch_floats = 0;

  // The dense layer, and the shared experts.
  float* mlp_gate = nullptr;  // [max(dense width, shared width)] then the activated product
  float* mlp_up = nullptr;
  float* shared = nullptr;  // [H]

  // Routed experts.
  float* router = nullptr;           // [E] logits, then scores
  float* router_scratch = nullptr;   // [E]
  float* latent = nullptr;           // [L]
  float* latent_prepared = nullptr;  // as the MXFP4 product wants it
  float* expert_gate = nullptr;      // [top_k][F]
  float* expert_up = nullptr;        // [top_k][F]
  float* expert_prepared = nullptr;  // [top_k][expert_prepared_floats]
  size_t expert_prepared_floats = 0;
  float* expert_out = nullptr;     // [top_k][L]
  float* expert_sum = nullptr;     // [L]
  float* expert_normed = nullptr;  // [L]
  float* chosen_weight = nullptr;  // [top_k]
  uint32_t* chosen = nullptr;      // [top_k]

  // The prediction of what a later layer chooses.
  float* ahead_mixed = nullptr;      // [H]
  float* ahead_x = nullptr;          // [H]
  float* ahead_router = nullptr;     // [E] logits, then scores
  float* ahead_scratch = nullptr;    // [E]
  float* ahead_weight = nullptr;     // [top_k]
  uint32_t* ahead_chosen = nullptr;  // [top_k]

  float* logits = nullptr;  // [V]

  std::vector<const float*> sources;  // [most blocks + 1] what a residual mix is over
  std::vector<const float*> ahead_sources;

 private:
  // Lays the vectors out from `base` (may be null, to measure) and returns the floats taken.
  size_t Lay(const Shape& shape, float* base);
  HugeRegion memory_;
};

// Blocks of the residual stream a position can have.
size_t MostResidualBlocks(const Shape& shape);

}  // namespace penstock::k3
