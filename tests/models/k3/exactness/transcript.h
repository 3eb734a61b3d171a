#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "models/k3/engine.h"
#include "models/text/choose/forced_ids.h"
#include "models/text/generate.h"
#include "models/text/sampler.h"

namespace penstock::k3 {

// What is generated: apart from how.
struct Task {
  std::vector<text::TokenId> prompt;
  size_t n = 0;
  std::vector<text::TokenId> eos;
  text::SamplerOptions sampling;
  std::vector<text::TokenId> forced;  // Empty: what the sampler chooses.
};

// What a run of it shows, token by token.
struct Shown {
  std::vector<text::TokenId> ids;
  std::vector<std::vector<float>> logits;
  std::vector<std::optional<double>> log_probabilities;
  std::vector<uint64_t> folds;  // Of the state before each token is consumed.
  std::vector<text::StepRecord> steps;
  text::Generation generation;
  uint64_t last_fold = 0;              // Of Generation::state.
  std::vector<uint64_t> prompt_folds;  // [prompt] of the state before each of its tokens.
};

inline Shown Show(Engine& engine, const Task& task, size_t chunk,
                  text::Drafting* drafting = nullptr) {
  Shown shown;
  text::GenerateCallbacks callbacks;
  callbacks.on_step = [&](const text::StepRecord& step) { shown.steps.push_back(step); };
  callbacks.on_token = [&](const text::TokenRecord& token) {
    EXPECT_EQ(token.state->position(), token.position);
    shown.ids.push_back(token.id);
    shown.logits.emplace_back(token.logits.begin(), token.logits.end());
    shown.log_probabilities.push_back(token.log_probability);
    shown.folds.push_back(engine.Fold(token.state));
    return true;
  };
  auto sampler = text::Sampler::Create(task.sampling);
  text::SampledIds sampled(*sampler);
  text::ForcedIds forced(task.forced, task.prompt.size());
  text::Chooser& chooser = task.forced.empty() ? static_cast<text::Chooser&>(sampled) : forced;
  text::GenerateOptions options;
  options.n = task.n;
  if (chunk > 0) options.prefill_chunk = chunk;
  options.ignore_eos = task.eos.empty();
  shown.generation = text::Generate(engine, task.prompt, chooser, task.eos, options, callbacks,
                                    {.drafting = drafting});
  if (shown.generation.state) shown.last_fold = engine.Fold(shown.generation.state);
  return shown;
}

// One token at a time.
inline Shown ShowSerial(const std::string& model, const Task& task) {
  PipelineOptions options;
  options.positions = 1;
  auto engine = Engine::Open(model, task.prompt.size() + task.n, options, {}, nullptr);
  EXPECT_TRUE(engine.has_value()) << engine.error().message;
  if (!engine) return {};
  Shown shown = Show(**engine, task, 1);
  (*engine)->ExpectMore(true);
  text::StateRef state = (*engine)->EmptyState();
  for (const text::TokenId& id : task.prompt) {
    shown.prompt_folds.push_back((*engine)->Fold(state));
    auto step = (*engine)->Step(state, {&id, 1});
    EXPECT_TRUE(step.has_value()) << step.error().message;
    if (step) state = step->after[0];
  }
  EXPECT_EQ((*engine)->Fold(state), shown.folds[0]);
  return shown;
}

inline void ExpectSameShown(const Shown& got, const Shown& serial) {
  ASSERT_FALSE(got.generation.error.has_value()) << got.generation.error->message;
  ASSERT_EQ(got.ids, serial.ids);
  EXPECT_EQ(got.generation.ids, serial.ids);
  for (size_t i = 0; i < got.ids.size(); ++i) {
    ASSERT_EQ(got.logits[i].size(), serial.logits[i].size());
    ASSERT_EQ(std::memcmp(got.logits[i].data(), serial.logits[i].data(),
                          got.logits[i].size() * sizeof(float)),
              0)
        << "token " << i;
    ASSERT_EQ(got.log_probabilities[i], serial.log_probabilities[i]) << "token " << i;
    ASSERT_EQ(got.folds[i], serial.folds[i]) << "token " << i;
  }
  EXPECT_EQ(got.generation.stop, serial.generation.stop);
  EXPECT_EQ(got.generation.positions, serial.generation.positions);
  EXPECT_EQ(got.generation.score.log_probability(), serial.generation.score.log_probability());
  EXPECT_EQ(got.last_fold, serial.last_fold);
}

inline std::vector<text::TokenId> DrawText(std::mt19937& random, size_t count, size_t vocab) {
  std::vector<text::TokenId> ids(count);
  for (text::TokenId& id : ids) id = static_cast<text::TokenId>(random() % vocab);
  return ids;
}

}  // namespace penstock::k3
