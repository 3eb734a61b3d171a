#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/result.h"
#include "tests/models/k3/oracle/attention.h"
#include "tests/models/k3/oracle/feed_forward.h"
#include "tests/models/k3/oracle/mistakes.h"
#include "tests/models/k3/oracle/weights.h"

namespace penstock::k3::oracle {

// A plain sequential float64 evaluation of a Kimi K3 checkpoint of any shape: one position at a
// time, every weight in memory as a double, expanded keys and values. It is what the engine's
// logits are compared with, so it shares nothing with the engine but Result: own reader, own
// configuration, own arithmetic.
//
//   PENSTOCK_TRY(auto model, ReferenceModel::Load(directory));
//   for (uint32_t id : prompt) logits = model.Step(id);
//
// Costs 8 bytes a parameter and 2 flops a parameter used. Threads: one at a time.
class ReferenceModel {
 public:
  // What a layer did at the last position.
  struct LayerTrace {
    Vector attention;  // [H] output of the attention sub-layer.
    Vector mlp;        // [H] output of the dense layer or of the experts.
    Vector acc;        // [H] the running sum after the layer.
    Routing routing;   // Empty in a dense layer.
  };

  static Result<ReferenceModel> Load(const std::string& directory);

  // Consumes one token and returns the logits [vocab] of what follows it. `id` < vocab().
  Vector Step(uint32_t id);
  // Forgets all positions.
  void Reset();

  size_t vocab() const { return weights_.config.vocab; }
  size_t position() const { return position_; }
  const Config& config() const { return weights_.config; }
  const std::vector<LayerTrace>& trace() const { return trace_; }  // [layers], of the last Step.

  // From the next Step on, evaluates these misreadings instead (none by default).
  void Make(Mistakes wrong) { wrong_ = std::move(wrong); }

 private:
  explicit ReferenceModel(Weights weights);

  bool Wrong(Mistake mistake) const { return wrong_.contains(mistake); }
  // The block attention residual over blocks_ and acc_.
  Vector Mix(const Vector& folded) const;
  void RunLayer(size_t layer);
  Vector Logits() const;

  Weights weights_;
  Mistakes wrong_;
  std::vector<AttentionState> states_;  // [layers]
  size_t position_ = 0;
  std::vector<Vector> blocks_;  // Closed blocks of the current position, oldest first.
  Vector acc_;                  // The open block; empty right after a boundary.
  std::vector<LayerTrace> trace_;
};

}  // namespace penstock::k3::oracle
