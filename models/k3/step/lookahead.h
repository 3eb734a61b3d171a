#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "models/k3/experts/experts.h"
#include "models/k3/experts/prediction_gate.h"
#include "models/k3/experts/prediction_stats.h"
#include "models/k3/experts/predictor.h"
#include "models/k3/layers/context.h"
#include "models/k3/weights/stream.h"

namespace penstock::k3 {

struct LookaheadOptions {
  PredictMode mode = PredictMode::kOff;
  uint64_t window_bytes = 0;       // What a device may be working on when a demand comes.
  Predictor* predictor = nullptr;  // In place of the built-in ones, ungated.
};

// Looks for the experts that a layer will choose, while the layer is being reached: from its router,
// applied to the residual as the layer before has left it, and from what the token before chose
// there. In a step of several positions it looks at the last one alone. Has those read that the gate finds worth it. Reads of the state of the step happen in Enter
// alone; everything else works on scratch of its own.
//
// Threads: Enter, Chosen and EndStep from the serial stage that knows where the step stands; AddRows
// and Predict from another one; the rest while no step runs.
class Lookahead {
 public:
  Lookahead(Context& context, Experts& experts, const WeightStream& stream,
            const LookaheadOptions& options);

  // Predict every layer, also where nothing is read ahead, for routes that are recorded.
  void Always(bool always) { always_ = always; }
  bool enabled() const { return always_ || active_; }

  // The step has come to context.layer. kNothing: no prediction for it; kLists: Predict is to be
  // called, kRouter: after the rows of the layer's router have been multiplied with input() into
  // scores().
  enum class Wanted : uint8_t { kNothing, kLists, kRouter };
  Wanted Enter();

  const float* input() const { return context_.act.ahead_x; }
  float* scores() const { return context_.act.ahead_router; }
  // Nobody needs a prediction for this visit any more.
  bool IsLate(uint64_t visit) const { return visit <= settled_.load(std::memory_order_relaxed); }
  void AddRows(uint64_t rows) { rows_ += rows; }
  // `router`: Enter wanted it. Its scores count only when all rows were added.
  void Predict(uint64_t visit, uint64_t step, uint32_t layer, bool router);

  // The layer has chosen: `next` becomes what its router was predicted to choose at the last
  // position, if it was.
  void Chosen(uint64_t visit, std::vector<uint32_t>& next);
  void EndStep();

  std::vector<LayerPrediction> stats() const;

 private:
  bool RouteAhead(uint32_t layer);
  void Issue(uint64_t visit, uint64_t step, uint32_t layer);

  Context& context_;
  Experts& experts_;
  const WeightStream& stream_;
  const LookaheadOptions options_;
  const bool active_;  // Something may be read ahead.
  bool always_ = false;

  std::atomic<bool> scratch_taken_{false};  // From Enter to the end of Predict.
  uint64_t rows_ = 0;                       // Of the router, multiplied.
  std::vector<uint32_t> issue_;             // Scratch of Predict,
  std::vector<uint32_t> wanted_;            // and of Chosen.

  mutable std::mutex mutex_;
  PredictionGate gate_;
  std::atomic<uint64_t> settled_{0};  // The last visit whose choice is known.
  struct Layer {
    std::vector<uint32_t> previous;  // What the token before chose.
    std::vector<uint32_t> next;      // What the router was predicted to choose in `visit`.
    uint64_t visit = 0;
    uint64_t predicted_ns = 0;
  };
  std::vector<Layer> layers_;
};

}  // namespace penstock::k3
