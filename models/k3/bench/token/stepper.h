#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "models/k3/bench/hooks.h"
#include "models/k3/engine.h"
#include "runtime/size.h"

namespace penstock::k3 {

// Steps from an empty state with ids that are always the same.
class Stepper {
 public:
  explicit Stepper(Engine& engine) : engine_(engine) {}

  Status Step() {
    if (!state_) state_ = engine_.EmptyState();
    // Far apart and never the same within a sample.
    const auto id =
        static_cast<text::TokenId>(state_->position() * 7919 % engine_.config().shape.vocab);
    PENSTOCK_TRY(text::StepResult result, engine_.Step(state_, std::span(&id, 1)));
    state_ = std::move(result.after.back());
    return {};
  }
  void Restart() { state_.reset(); }

 private:
  Engine& engine_;
  text::StateRef state_;
};

// Engine::Open, with the progress of a benchmark.
inline Result<std::unique_ptr<Engine>> OpenForBench(const std::string& model, size_t context,
                                                    const PipelineOptions& pipeline,
                                                    const io::IoOptions& io_options,
                                                    const BenchHooks& hooks) {
  return Engine::Open(
      model, context, pipeline, io_options, hooks.notice, nullptr,
      [&](std::string_view what, uint64_t done, uint64_t total) {
        return !hooks.progress || hooks.progress({what, "MiB", done / kMiB, total / kMiB});
      });
}

}  // namespace penstock::k3
