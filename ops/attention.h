#pragma once

#include <cstddef>
#include <span>

#include "ops/kernels/kernels.h"

namespace penstock::ops {

inline constexpr size_t kPagePositions = 64;  // Positions in one page of the latent cache.

struct LatentShape {
  size_t heads = 0;
  size_t nope = 0;                                // qk_nope_head_dim
  size_t rope = 0;                                // qk_rope_head_dim
  size_t value = 0;                               // v_head_dim
  size_t latent = 0;                              // kv_lora_rank
  size_t width() const { return latent + rope; }  // floats a cached position takes
};

// Heads worked on together. A function of nothing but this constant and the model's head count, so
// that no tuning can move an order of summation: heads [g*kHeadGroup, min(heads,
// (g+1)*kHeadGroup)).
inline constexpr size_t kHeadGroup = 8;

size_t LatentScratchFloats(const LatentShape& shape);

// Latent-form MLA for one query position and the heads of one group: instead of expanding every
// cached position into keys and values, the query goes through the key half of kv_b (q' = Bk^T
// q_nope), scores are (q' . latent + q_rope . rope slots) * (nope + rope)^-0.5, and the softmax's
// mixture of latents goes through the value half. No rotation is applied to the rope slots.
//   group       which group of kHeadGroup heads
//   kv_b        bf16 rows of this group: [heads in group * (nope + value)][latent], nope first
//   q           [heads in group][nope + rope]
//   pages       each [kPagePositions][width()], latent then rope slots; rows at and beyond
//               `positions` in the last page are not read as values (masked) but must be finite
//   positions   cached positions to attend to, the query's own included (>= 1)
//   scratch     LatentScratchFloats floats
//   out         [heads in group][value], before the output gate
// Softmax: maximum over all positions, then sums over pages in order, inside a page by lanes.
// The products with pages go through Eigen in constant shapes (kHeadGroup rows, unused ones zero,
// by one whole page), compiled for the baseline instruction set: same bits for any `kernels`, any
// alignment of the pages, and whatever the other heads hold. A NaN or an infinity in what is
// attended to gives NaN. Allocates nothing: packing blocks of Eigen, under 64 KiB, are on the
// stack. Threads: re-entrant.
void LatentAttention(const Kernels& kernels, const LatentShape& shape, size_t group,
                     const uint16_t* kv_b, const float* q, std::span<const float* const> pages,
                     size_t positions, float* scratch, float* out);

}  // namespace penstock::ops
