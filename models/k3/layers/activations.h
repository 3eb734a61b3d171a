#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/k3/config/shape.h"
#include "runtime/memory/region.h"
#include "runtime/result.h"

namespace penstock::k3 {

// A vector for each position of a step, `stride` values apart.
template <class V>
struct Strided {
  V* data = nullptr;
  size_t stride = 0;
  V* operator[](size_t t) const { return data + t * stride; }
};
using Rows = Strided<float>;

// Every vector of the positions of a step between embedding and logits, allocated once. f32, each
// at a 64-byte boundary unless said otherwise; shapes are those of one position. Letters as in shape.h; P = kda_heads * kda_width, D = kda_width.
// Ownership: points into one region that it owns. Threads: who may write what follows the flow of a
// step (layers/flow.h); there is one writer at a time for each vector or slice.
class Activations {
 public:
  // `positions`: the most of a step; `rows`: the most of them that get logits.
  static Result<Activations> Create(const Shape& shape, size_t positions, size_t rows);
  static size_t Bytes(const Shape& shape, size_t positions, size_t rows);

  size_t positions = 0;  // That there is room for.

  // The residual stream.
  Rows acc;     // [H] running sum of the current block; the embedding row at first
  Rows blocks;  // [most blocks][H] finished ones, oldest first
  Rows mixed;   // [H] u, the mix of blocks and acc
  Rows x;       // [H] rms_norm(u), the input of a sub-layer or of the head
  Rows y;       // [H] output of a sub-layer

  // KDA.
  Rows kda_q;    // [P] projected
  Rows kda_k;    // [P]
  Rows kda_v;    // [P]
  Rows decay_a;  // [D]
  Rows decay_b;  // [P]
  Rows beta;     // [heads]
  Rows gate_a;   // [D] low-rank gate only

  // Both kinds of attention: gate and attended values before the output projection.
  Rows gate;      // [max(P, mla value total)]
  Rows attended;  // [max(P, mla value total)]

  // MLA.
  Rows q_a;                         // [q_rank]
  Rows q_latent;                    // [q_rank] normed
  Rows kv_a;                        // [kv_rank + rope]
  Rows mla_q;                       // [mla heads][nope + rope]
  float* latent_scratch = nullptr;  // [groups of heads][latent_scratch_floats], of one position
  size_t latent_scratch_floats = 0;

  // The dense layer, and the shared experts.
  Rows mlp_gate;  // [max(dense width, shared width)] then the activated product
  Rows mlp_up;
  Rows shared;  // [H]

  // Routed experts.
  Rows router;                      // [E] logits, then scores
  float* router_scratch = nullptr;  // [E], of one position
  Rows latent;                      // [L]
  Rows latent_prepared;             // as the MXFP4 product wants it, each position alone
  Rows expert_sum;                  // [L]
  Rows expert_normed;               // [L]
  Rows chosen_weight;               // [top_k]
  Strided<uint32_t> chosen;         // [top_k]
  // Of one expert at one position: a slot for each choice, those of an expert side by side.
  Strided<uint32_t> slot;             // [top_k] of each choice
  uint32_t* slot_position = nullptr;  // [slots] whose choice it is
  Rows expert_gate;                   // [slots][F]
  Rows expert_up;                     // [slots][F]
  Rows expert_prepared;               // [slots][F or L prepared]
  Rows expert_out;                    // [slots][L]

  // The prediction of what a later layer chooses, for the last position.
  float* ahead_mixed = nullptr;      // [H]
  float* ahead_x = nullptr;          // [H]
  float* ahead_router = nullptr;     // [E] logits, then scores
  float* ahead_scratch = nullptr;    // [E]
  float* ahead_weight = nullptr;     // [top_k]
  uint32_t* ahead_chosen = nullptr;  // [top_k]

  // [V] of as many positions as get them, from Context::first_logits on; the rows without a gap.
  Rows logits;

  std::vector<const float*> sources;  // [most blocks + 1] what a residual mix is over
  std::vector<const float*> ahead_sources;

 private:
  class Layout;
  // Lays the vectors out from `base` (may be null, to measure) and returns the floats taken.
  size_t Lay(const Shape& shape, size_t most, size_t rows, float* base);
  void LayExperts(const Shape& shape, Layout& layout);
  HugeRegion memory_;
};

// Blocks of the residual stream a position can have.
size_t MostResidualBlocks(const Shape& shape);

}  // namespace penstock::k3
