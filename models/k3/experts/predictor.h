#pragma once

#include <cstdint>
#include <vector>

namespace penstock::k3 {

// Names experts that a layer may choose, best first. In place of the built-in ones, whose lists are
// gated: whatever this one names is read, as far as slots allow. It decides when bytes move and never
// what runs, so it may be wrong.
// Threads: one at a time.
class Predictor {
 public:
  virtual ~Predictor() = default;
  virtual void Predict(uint64_t step, uint32_t layer, std::vector<uint32_t>& experts) = 0;
};

}  // namespace penstock::k3
