// The engine against an independent float64 evaluation, on checkpoints of odd shapes.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "models/k3/engine.h"
#include "models/k3/synth/synth.h"
#include "tests/models/k3/oracle/reference_model.h"

namespace penstock::k3 {
namespace {

struct OddShape {
  const char* name;
  SynthOptions options;
};

SynthOptions Base() {
  SynthOptions options;
  options.vocab = 300;
  options.seed = 11;
  return options;
}

std::vector<OddShape> OddShapes() {
  std::vector<OddShape> shapes;
  SynthOptions odd = Base();
  odd.layers = 13;
  odd.hidden = 72;
  odd.kda_heads = 3;
  odd.kda_width = 20;
  odd.taps = 3;
  odd.mla_heads = 3;
  odd.q_rank = 44;
  odd.kv_rank = 20;
  odd.nope = 12;
  odd.rope = 6;
  odd.value = 10;
  odd.experts = 10;
  odd.top_k = 3;
  odd.shared = 1;
  odd.latent = 32;
  odd.expert_width = 32;
  odd.dense_width = 44;
  odd.residual_block = 5;
  odd.a_log_padding = false;
  shapes.push_back({"odd_widths", odd});

  SynthOptions many = Base();
  many.layers = 7;
  many.hidden = 100;
  many.kda_heads = 5;
  many.kda_width = 36;
  many.mla_heads = 11;  // More than one group of heads, the last one partial.
  many.nope = 7;
  many.rope = 5;
  many.value = 9;
  many.q_rank = 33;
  many.kv_rank = 21;
  many.latent = 160;
  many.expert_width = 96;
  many.residual_block = 3;
  many.mla_layers = "1,2,7";
  many.first_dense = 2;
  shapes.push_back({"many_heads", many});

  SynthOptions older = Base();
  older.layers = 4;
  older.hidden = 64;
  older.decay_bound = 0;  // The softplus form of the decay.
  older.full_rank_gate = false;
  older.residual_block = 1;
  older.first_dense = 0;
  older.groups = 4;
  older.top_groups = 2;
  older.flat = true;
  shapes.push_back({"older_forms", older});

  SynthOptions tiny = Base();
  tiny.layers = 2;
  tiny.hidden = 2;
  tiny.vocab = 17;
  tiny.kda_heads = tiny.kda_width = 1;
  tiny.taps = 1;
  tiny.mla_heads = 1;
  tiny.q_rank = tiny.kv_rank = tiny.nope = tiny.rope = tiny.value = 1;
  tiny.dense_width = 1;
  tiny.experts = tiny.top_k = 1;
  tiny.shared = 1;
  tiny.latent = tiny.expert_width = 32;
  tiny.residual_block = 8;
  shapes.push_back({"ones", tiny});
  return shapes;
}

class NumericShapes : public testing::TestWithParam<OddShape> {};

TEST_P(NumericShapes, LogitsAgreeWithFloat64) {
  SynthOptions options = GetParam().options;
  options.out =
      testing::TempDir() + "penstock_shape_" + GetParam().name + "_" + std::to_string(getpid());
  std::filesystem::remove_all(options.out);
  const auto made = Synthesize(options, {});
  ASSERT_TRUE(made.has_value()) << made.error().message;

  auto reference = oracle::ReferenceModel::Load(options.out);
  ASSERT_TRUE(reference.has_value()) << reference.error().message;
  const size_t positions = 70;  // More than a page of the latent cache.
  for (const char* isa : {"scalar", "auto"}) {
    reference->Reset();
    PipelineOptions pipeline;
    pipeline.pin = "0";
    pipeline.isa = isa;
    auto engine = Engine::Open(options.out, positions, pipeline, {}, nullptr);
    ASSERT_TRUE(engine.has_value()) << engine.error().message;
    text::StateRef state = (*engine)->EmptyState();
    uint32_t id = 1;
    double worst = 0;
    for (size_t position = 0; position < positions; ++position) {
      const oracle::Vector want = reference->Step(id);
      auto step = (*engine)->Step(state, std::span(&id, 1));
      ASSERT_TRUE(step.has_value()) << step.error().message;
      state = step->after.back();
      double largest = 0;
      double error = 0;
      for (size_t i = 0; i < want.size(); ++i) {
        largest = std::max(largest, std::abs(want[i]));
        error = std::max(error, std::abs(want[i] - static_cast<double>(step->logits[i])));
      }
      ASSERT_GT(largest, 0);
      worst = std::max(worst, error / largest);
      id = (id * 7 + 3) % static_cast<uint32_t>(options.vocab);
    }
    // f32 through every layer; a wrong formula is off by far more.
    EXPECT_LE(worst, 1e-4) << isa;
  }
  std::filesystem::remove_all(options.out);
}

INSTANTIATE_TEST_SUITE_P(Odd, NumericShapes, testing::ValuesIn(OddShapes()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace penstock::k3
