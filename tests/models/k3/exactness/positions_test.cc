// A step of several positions gives the bits of as many steps of one, whatever becomes of the
// versions it leaves.
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "models/k3/engine.h"
#include "models/k3/synth/synth.h"
#include "tests/models/k3/tiny_model.h"

namespace penstock::k3 {
namespace {

constexpr size_t kMostAtOnce = 9;

std::unique_ptr<Engine> OpenMany(const std::string& model, size_t context,
                                 PipelineOptions options = {}) {
  if (options.positions == 1) options.positions = kMostAtOnce;
  auto engine = Engine::Open(model, context, options, {}, nullptr);
  EXPECT_TRUE(engine.has_value()) << engine.error().message;
  return engine ? std::move(*engine) : nullptr;
}

// What serial decoding gives: logits and state after each token.
struct Serial {
  Serial(const std::string& model, std::vector<text::TokenId> text) : ids(std::move(text)) {
    const auto engine = OpenMany(model, ids.size());
    text::StateRef state = engine->EmptyState();
    folds.push_back(engine->Fold(state));
    for (const text::TokenId id : ids) {
      auto step = engine->Step(state, std::span(&id, 1));
      EXPECT_TRUE(step.has_value()) << step.error().message;
      state = step->after[0];
      logits.emplace_back(step->logits.begin(), step->logits.end());
      folds.push_back(engine->Fold(state));
    }
  }
  std::vector<text::TokenId> ids;
  std::vector<std::vector<float>> logits;  // [ids]
  std::vector<uint64_t> folds;             // [ids + 1]
};

std::vector<text::TokenId> DrawIds(std::mt19937& random, size_t count, size_t vocab) {
  std::vector<text::TokenId> ids(count);
  for (text::TokenId& id : ids) id = static_cast<text::TokenId>(random() % vocab);
  return ids;
}

void ExpectRows(const Serial& serial, size_t first, const text::StepResult& step,
                const Engine& engine) {
  const size_t vocab = engine.vocab_size();
  ASSERT_EQ(step.logits.size(), step.after.size() * vocab);
  for (size_t t = 0; t < step.after.size(); ++t) {
    EXPECT_EQ(step.after[t]->position(), first + t + 1);
    ASSERT_EQ(std::memcmp(step.logits.data() + t * vocab, serial.logits[first + t].data(),
                          vocab * sizeof(float)),
              0)
        << "position " << first + t;
    ASSERT_EQ(engine.Fold(step.after[t]), serial.folds[first + t + 1]) << "position " << first + t;
  }
}

// Steps of random lengths; after each a random prefix is kept, the rest of them rolled back.
void ExpectSerialBits(const Serial& serial, Engine& engine, std::mt19937& random) {
  text::StateRef state = engine.EmptyState();
  while (state->position() < serial.ids.size()) {
    const size_t first = state->position();
    const size_t count = std::min(1 + random() % kMostAtOnce, serial.ids.size() - first);
    const size_t right = 1 + random() % count;  // Of the tokens; what follows is a wrong draft.
    std::vector<text::TokenId> tokens(serial.ids.begin() + static_cast<long>(first),
                                      serial.ids.begin() + static_cast<long>(first + count));
    for (size_t t = right; t < count; ++t) tokens[t] = (tokens[t] + 1) % engine.vocab_size();
    auto step = engine.Step(state, tokens);
    ASSERT_TRUE(step.has_value()) << step.error().message;
    EXPECT_EQ(engine.last_step().positions, count);
    step->after.resize(right);
    step->logits = step->logits.first(right * engine.vocab_size());
    ASSERT_NO_FATAL_FAILURE(ExpectRows(serial, first, *step, engine));
    ASSERT_EQ(engine.Fold(state), serial.folds[first]) << "the version before is as it was";
    state = step->after.back();
  }
}

TEST(NumericPositions, ChunksAndDraftsGiveTheBitsOfSerialDecoding) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const Serial serial(kTiny, DrawIds(random, 80, 2048));  // More than a page of the latent cache.
  const TinyModel tiny;
  for (int run = 0; run < 6; ++run) {
    PipelineOptions options;
    options.threads = 1 + random() % 3;
    options.pin = run % 2 == 0 ? "0" : "auto";
    options.predict = run % 3 == 0 ? "auto" : "off";
    if (run % 2 == 0) options.expert_cache.bytes = 16 << 10;  // One expert.
    if (run % 2 == 0) options.ring.bytes = kMiB;              // About one extent.
    const auto engine = OpenMany(kTiny, serial.ids.size(), options);
    ASSERT_NE(engine, nullptr);
    ASSERT_NO_FATAL_FAILURE(ExpectSerialBits(serial, *engine, random)) << "run " << run;
  }
}

}  // namespace
}  // namespace penstock::k3
