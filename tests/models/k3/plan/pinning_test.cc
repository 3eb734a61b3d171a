// Pinning responds: what a step reads falls by exactly what is pinned, and packed pins hold half as
// many layers again as raw ones of the same bytes. Judged by the counters of steps.
#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "models/k3/engine.h"
#include "models/k3/synth/synth.h"
#include "runtime/size.h"
#include "tests/models/k3/tiny_pack.h"

namespace penstock::k3 {
namespace {

// A checkpoint of 40 layers of about 2 MB each, and its pack.
class Pinning : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = testing::TempDir() + "penstock_pinning_" + std::to_string(getpid());
    std::filesystem::remove_all(directory_);
    SynthOptions options;
    options.out = directory_;
    options.layers = 40;
    options.hidden = 512;
    options.vocab = 1024;
    options.kda_heads = 4;
    options.dense_width = 512;
    options.experts = 4;
    options.top_k = 2;
    options.residual_block = 12;
    ASSERT_TRUE(Synthesize(options, {}).has_value());
    PackOptions pack;
    pack.model = directory_;
    pack.out = directory_ + "/pack";
    pack.codec = "chain";
    const auto packed = WritePack(pack, SilentWatch());
    ASSERT_TRUE(packed.has_value()) << packed.error().message;
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(directory_); }

  struct Outcome {
    MemoryPlan plan;
    uint64_t read = 0;  // Trunk and head, payload of the second step.
  };
  static Outcome Run(PipelineOptions options, const std::string& pin) {
    options.pin = pin;
    const auto engine = Engine::Open(directory_, 4, options, {}, nullptr);
    EXPECT_TRUE(engine.has_value()) << engine.error().message;
    if (!engine) return {};
    text::StateRef state = (*engine)->EmptyState();
    for (const text::TokenId id : {1u, 2u}) {
      auto step = (*engine)->Step(state, std::span(&id, 1));
      EXPECT_TRUE(step.has_value()) << step.error().message;
      if (step) state = step->after.back();
    }
    const StepStats& stats = (*engine)->last_step();
    return {(*engine)->plan(), stats.trunk_bytes + stats.head_bytes};
  }

  static std::string directory_;
};
std::string Pinning::directory_;

TEST_F(Pinning, AStepReadsLessByExactlyWhatIsPinned) {
  PipelineOptions packed;
  packed.pack = directory_ + "/pack";
  packed.decode = "fused";
  for (PipelineOptions options : {PipelineOptions(), packed}) {
    options.pin_format = options.pack.empty() ? "auto" : "packed";
    const Outcome none = Run(options, "0");
    EXPECT_EQ(none.plan.pinned_payload, 0u);
    for (const char* pin : {"1", "13", "40", "41", "20M", "auto"}) {
      const Outcome some = Run(options, pin);
      EXPECT_GT(some.plan.pinned_payload, 0u) << pin;
      EXPECT_EQ(none.read - some.read, some.plan.pinned_payload) << pin;
    }
    EXPECT_EQ(Run(options, "41").read, 0u);
  }
}

TEST_F(Pinning, PackedPinsHoldHalfAsManyAgain) {
  PipelineOptions options;
  options.pack = directory_ + "/pack";
  options.decode = "fused";
  options.pin_format = "raw";
  const Outcome twenty = Run(options, "20");
  const std::string size = std::to_string(twenty.plan.pinned_bytes) + "B";
  const Outcome raw = Run(options, size);
  options.pin_format = "packed";
  const Outcome packed = Run(options, size);
  EXPECT_LE(packed.plan.pinned_bytes, twenty.plan.pinned_bytes);
  EXPECT_GE(static_cast<double>(packed.plan.pinned_layers),
            1.45 * static_cast<double>(raw.plan.pinned_layers));
  EXPECT_GE(static_cast<double>(packed.plan.pinned_payload),
            1.45 * static_cast<double>(raw.plan.pinned_payload));
  EXPECT_LT(packed.read, raw.read);
  options.pin_format = "auto";
  EXPECT_TRUE(Run(options, size).plan.pinned_packed) << "as they do not all fit raw";
  EXPECT_FALSE(Run(options, "41").plan.pinned_packed);
}

}  // namespace
}  // namespace penstock::k3
