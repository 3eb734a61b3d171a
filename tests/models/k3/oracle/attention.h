#pragma once

#include <deque>
#include <vector>

#include "tests/models/k3/oracle/mistakes.h"
#include "tests/models/k3/oracle/weights.h"

namespace penstock::k3::oracle {

// What one layer's attention remembers of the positions before. A KDA layer uses the first two
// members, an MLA layer the last three.
struct AttentionState {
  std::deque<Vector> history_q, history_k, history_v;  // Projected, unconvolved; newest last.
  std::vector<Vector> memory;                          // [heads] of [D, D], key channel by value.

  std::vector<Vector> keys;    // [position] of [heads, nope]
  std::vector<Vector> values;  // [position] of [heads, value]
  std::vector<Vector> ropes;   // [position] of [rope], shared by the heads.
};

// One position of Kimi Delta Attention, or of gated MLA without positions and with expanded keys.
// `x` is the normed input [H]; the result is [H].
Vector Kda(const Config& c, const KdaWeights& w, const Mistakes& wrong, const Vector& x,
           AttentionState* state);
Vector Mla(const Config& c, const MlaWeights& w, const Mistakes& wrong, const Vector& x,
           AttentionState* state);

}  // namespace penstock::k3::oracle
