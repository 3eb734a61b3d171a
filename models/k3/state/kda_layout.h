#pragma once

#include <cstddef>

#include "ops/kernels/kernels.h"

namespace penstock::k3 {

// What one KDA layer remembers, f32, head by head so that heads can be advanced apart:
//   S [D][D] key channel by value channel, then the last taps-1 projected, unconvolved inputs of q,
//   k and v, each [taps-1][D], oldest first.
struct KdaLayout {
  size_t heads = 0;
  size_t width = 0;  // D
  size_t taps = 0;
  size_t history_floats() const { return (taps - 1) * width; }
  size_t head_floats() const { return width * width + 3 * history_floats(); }
  size_t bytes() const { return heads * head_floats() * sizeof(float); }
  // Where a head's weights begin in a convolution of the layer, [heads][D][taps].
  size_t taps_at(size_t head) const { return head * width * taps; }
  // Of what one position adds: KdaEntry.
  size_t entry_floats() const { return heads * (4 * width + 1); }
};

// What a position has put into one head, in the entry of its layer: [heads][4][D], the projected,
// unconvolved q, k and v and the exp of the decay, then the beta of each head.
struct KdaEntry {
  KdaEntry(const KdaLayout& layout, float* entry, size_t head)
      : q(entry + head * 4 * layout.width),
        k(q + layout.width),
        v(k + layout.width),
        alpha(v + layout.width),
        beta(entry + layout.heads * 4 * layout.width + head) {}
  float* q;
  float* k;
  float* v;
  float* alpha;
  float* beta;
};

// The convolutions of a head, each [D][taps]; of a layer those of its first head, which the others
// follow.
struct KdaTaps {
  const float* k = nullptr;
  const float* v = nullptr;
};

// Advances one head (KdaLayout::head_floats) over an entry, in place: the same kernels in the same
// order as when the position was computed. `scratch` holds 3 * D floats.
void AdvanceHead(const ops::Kernels& kernels, const KdaLayout& layout, const KdaTaps& taps,
                 const KdaEntry& entry, float* head, float* scratch);

}  // namespace penstock::k3
