// A run that is interrupted anywhere leaves what serial decoding had, and goes on from there.
#include <atomic>
#include <filesystem>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <unistd.h>

#include "models/k3/synth/synth.h"
#include "tests/models/k3/exactness/random_shape.h"
#include "tests/models/k3/exactness/transcript.h"
#include "tests/models/k3/tiny_pack.h"
#include "tests/models/text/history_model.h"

namespace penstock::k3 {
namespace {

using Ids = std::vector<text::TokenId>;

// Cancels the run when body number `at` of the stages named so begins; "" is any stage.
class Interrupt : public StepObserver {
 public:
  Interrupt(Engine& engine, std::string stage, size_t at)
      : engine_(engine), stage_(std::move(stage)), left_(static_cast<long>(at)) {}
  void Begins(const graph::NodeFacts& node, graph::Subject*) override {
    if ((stage_.empty() || node.name == stage_) && left_.fetch_sub(1) == 0) engine_.Cancel();
  }

 private:
  Engine& engine_;
  const std::string stage_;
  std::atomic<long> left_;
};

std::string SynthesizedIn(const char* name, SynthOptions options) {
  options.out = testing::TempDir() + "penstock_" + name + "_" + std::to_string(getpid());
  std::filesystem::remove_all(options.out);
  const auto made = Synthesize(options, {});
  EXPECT_TRUE(made.has_value()) << made.error().message;
  return options.out;
}

// Heads so large that some are at work when the step has been cancelled.
TEST(NumericInterrupts, NoHeadIsAtWorkWhenACancelledStepHasReturned) {
  SynthOptions shape;
  shape.vocab = 300;
  shape.layers = 2;
  shape.hidden = 32;
  shape.kda_heads = 6;
  shape.kda_width = 256;
  shape.mla_heads = shape.q_rank = shape.kv_rank = shape.nope = shape.rope = shape.value = 4;
  shape.experts = 4;
  shape.top_k = 1;
  shape.shared = 1;
  shape.latent = shape.expert_width = shape.dense_width = 32;
  const std::string model = SynthesizedIn("heads", shape);
  std::vector<std::unique_ptr<Interrupt>> interrupts;
  PipelineOptions options;
  options.threads = 2;
  options.positions = 48;
  auto engine = Engine::Open(model, 100, options, BufferedPread(), nullptr);
  ASSERT_TRUE(engine.has_value()) << engine.error().message;
  std::mt19937 random(7);
  const Ids ids = DrawText(random, 96, shape.vocab);
  const std::span<const text::TokenId> all(ids);
  for (size_t run = 0; run < 16; ++run) {
    text::StateRef state = (*engine)->Step((*engine)->EmptyState(), all.first(2))->after.back();
    state = (*engine)->Step(state, all.subspan(2, 48))->after.back();
    const uint64_t fold = (*engine)->Fold(state);
    interrupts.push_back(std::make_unique<Interrupt>(**engine, "kda", 1 + run % 3));
    (*engine)->Observe(interrupts.back().get());
    const auto step = (*engine)->Step(state, all.subspan(50));
    for (int again = 0; again < 2; ++again) ASSERT_EQ((*engine)->Fold(state), fold) << run;
    (*engine)->Observe(nullptr);
    EXPECT_FALSE(step.has_value());
  }
  std::filesystem::remove_all(model);
}

}  // namespace
}  // namespace penstock::k3
