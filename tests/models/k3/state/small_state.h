#pragma once

#include <vector>

#include "models/k3/state/fold.h"
#include "models/k3/state/state.h"
#include "ops/kernels/kernels.h"

namespace penstock::k3 {

inline Shape SmallShape() {
  Shape shape;
  shape.layers = 3;
  shape.kda = {true, false, true};
  shape.kda_heads = 2;
  shape.kda_width = 4;
  shape.conv_taps = 4;
  shape.kv_rank = 5;
  shape.rope = 3;
  return shape;
}

// Weights of the convolutions, the same for every KDA layer.
struct SmallTaps {
  SmallTaps() : k(2 * 4 * 4), v(k.size()) {
    for (size_t i = 0; i < k.size(); ++i) {
      k[i] = 0.25f + 0.125f * static_cast<float>(i % 7);
      v[i] = 0.5f - 0.125f * static_cast<float>(i % 5);
    }
  }
  KdaTaps first_head() const { return {k.data(), v.data()}; }
  std::vector<float> k;
  std::vector<float> v;
};

}  // namespace penstock::k3
