#pragma once

#include <cstdint>

namespace penstock::k3 {

// The weights of one routed expert, MXFP4 as stored: w1 the gate, w3 the up, w2 the down matrix.
struct ExpertView {
  const uint8_t* w1_packed = nullptr;  // [F][L/2]
  const uint8_t* w1_scale = nullptr;   // [F][L/32]
  const uint8_t* w2_packed = nullptr;  // [L][F/2]
  const uint8_t* w2_scale = nullptr;   // [L][F/32]
  const uint8_t* w3_packed = nullptr;  // [F][L/2]
  const uint8_t* w3_scale = nullptr;   // [F][L/32]
};

}  // namespace penstock::k3
