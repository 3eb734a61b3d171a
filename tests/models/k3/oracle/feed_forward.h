#pragma once

#include <cstdint>
#include <vector>

#include "tests/models/k3/oracle/mistakes.h"
#include "tests/models/k3/oracle/weights.h"

namespace penstock::k3::oracle {

// What the router decided for one position of one layer.
struct Routing {
  std::vector<uint32_t> experts;  // Best biased score first; ties to the lower id.
  Vector weights;                 // As multiplied into the experts' outputs.
  double margin = 0;  // Biased score of the last chosen minus that of the first rejected.
};

// Wdown situ(Wgate x, Wup x). `x` [in], result [out].
Vector Mlp(const Config& c, const MlpWeights& w, const Mistakes& wrong, const Vector& x);

// Stable LatentMoE of one position. `x` is the normed input [H], `unnormed` the vector before the
// norm (only a wrong model looks at it). Fills `routing` when it is not null.
Vector Moe(const Config& c, const MoeWeights& w, const Mistakes& wrong, const Vector& x,
           const Vector& unnormed, Routing* routing);

}  // namespace penstock::k3::oracle
