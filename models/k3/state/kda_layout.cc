#include "models/k3/state/kda_layout.h"

#include <algorithm>

namespace penstock::k3 {
namespace {

// Moves a history on by one input.
void PushInput(const KdaLayout& layout, const float* input, float* history) {
  const size_t floats = layout.history_floats();
  if (floats == 0) return;
  std::copy(history + layout.width, history + floats, history);
  std::copy_n(input, layout.width, history + floats - layout.width);
}

}  // namespace

void AdvanceHead(const ops::Kernels& kernels, const KdaLayout& layout, const KdaTaps& taps,
                 const KdaEntry& entry, float* head, float* scratch) {
  const size_t width = layout.width;
  float* const q_history = head + width * width;
  float* const k_history = q_history + layout.history_floats();
  float* const v_history = k_history + layout.history_floats();
  float* const k = scratch;
  float* const v = k + width;
  float* const unused = v + width;  // What a query would give: the state does not depend on it.
  kernels.short_conv_silu(taps.k, k_history, entry.k, width, layout.taps, k);
  kernels.short_conv_silu(taps.v, v_history, entry.v, width, layout.taps, v);
  kernels.l2_normalize(k, width, 1.0f, k);
  kernels.kda_step(head, k, k, v, entry.alpha, *entry.beta, width, head, unused);
  PushInput(layout, entry.q, q_history);
  PushInput(layout, entry.k, k_history);
  PushInput(layout, entry.v, v_history);
}

}  // namespace penstock::k3
