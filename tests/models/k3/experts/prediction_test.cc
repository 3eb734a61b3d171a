// Prediction may change time only: what is read ahead, rightly or wrongly, decides nothing.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "models/k3/engine.h"
#include "tests/models/k3/allocation.h"
#include "tests/models/k3/tiny_model.h"

namespace penstock::k3 {
namespace {

constexpr uint32_t kPredictedSteps = 6;
constexpr uint64_t kSlot = 16 << 10;  // More than an expert takes, less than two.

text::TokenId TokenAt(uint32_t position) { return 301 + 17 * position; }

struct Outcome {
  std::vector<std::byte> logits;
  std::map<std::pair<uint64_t, uint32_t>, std::vector<uint32_t>> chosen;  // By step and layer.
};

// With a trunk that streams, unless the options say otherwise.
std::unique_ptr<Engine> Open(PipelineOptions options, const io::IoOptions& io_options = {},
                             Predictor* predictor = nullptr, size_t context = kPredictedSteps) {
  if (options.pin == "auto") options.pin = "0";
  auto engine = Engine::Open(kTiny, context, options, io_options, nullptr, predictor);
  EXPECT_TRUE(engine.has_value()) << engine.error().message;
  return engine ? std::move(*engine) : nullptr;
}

// A few steps, each repeated until it ends well; every failure is counted.
Outcome RunSteps(Engine& engine, int* failures = nullptr) {
  Outcome outcome;
  text::StateRef state = engine.EmptyState();
  for (uint32_t position = 0; position < kPredictedSteps; ++position) {
    const text::TokenId id = TokenAt(position);
    engine.ExpectMore(position + 1 < kPredictedSteps);
    auto step = engine.Step(state, std::span(&id, 1));
    for (int tries = 0; !step && failures != nullptr && tries < 8; ++tries) {
      ++*failures;
      step = engine.Step(state, std::span(&id, 1));
    }
    EXPECT_TRUE(step.has_value()) << step.error().message;
    if (!step) return outcome;
    state = step->after.back();
    const auto row = std::as_bytes(step->logits);
    outcome.logits.insert(outcome.logits.end(), row.begin(), row.end());
    for (const Route& route : engine.last_routes()) {
      outcome.chosen[{position, route.layer}] = route.chosen;
    }
  }
  return outcome;
}

const Outcome& Expected() {
  static const Outcome outcome = [] {
    PipelineOptions options;
    options.predict = "off";
    return RunSteps(*Open(options));
  }();
  return outcome;
}

enum class Kind { kRight, kWrong, kRandom };

// Knows what will be chosen, and names just that, just the others, or anything.
class Oracle final : public Predictor {
 public:
  Oracle(Kind kind, unsigned seed) : kind_(kind), random_(seed) {
    Expected();  // A step that others wait for is no place to run another engine.
  }
  void Predict(uint64_t step, uint32_t layer, std::vector<uint32_t>& experts) override {
    const auto found = Expected().chosen.find({step, layer});
    if (found == Expected().chosen.end()) return;
    const std::vector<uint32_t>& chosen = found->second;
    if (kind_ == Kind::kRight) experts = chosen;
    for (uint32_t expert = 0; expert < 32 && kind_ == Kind::kWrong; ++expert) {
      const bool right = std::find(chosen.begin(), chosen.end(), expert) != chosen.end();
      if (!right) experts.push_back(expert);
    }
    for (int i = 0; i < 6 && kind_ == Kind::kRandom; ++i) experts.push_back(random_() % 40);
  }

 private:
  const Kind kind_;
  std::mt19937 random_;
};

// Everything that predictions held is back, once reads that nobody waits for have ended.
void ExpectAllHome(const Engine& engine) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (engine.experts().held() != 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(engine.experts().held(), 0u);
  EXPECT_EQ(engine.experts().predicted(), 0u);
  EXPECT_EQ(engine.experts().pending_bytes(), 0u);
}

void ExpectBooks(const Engine& engine) {
  const Experts& experts = engine.experts();
  const Ahead ahead = experts.ahead();
  EXPECT_EQ(experts.hits() + experts.misses(), kPredictedSteps * 8 * 4);
  EXPECT_EQ(experts.traffic().payload, experts.misses() * kTinyExpertBytes + ahead.wasted_bytes);
  EXPECT_EQ(ahead.useful_bytes, ahead.useful * kTinyExpertBytes);
  EXPECT_EQ(ahead.issued, ahead.useful + ahead.wasted + ahead.dropped);
}

// Names experts in every layer that it is asked about.
class Eager final : public Predictor {
 public:
  void Predict(uint64_t, uint32_t, std::vector<uint32_t>& experts) override {
    ++asked;
    for (uint32_t expert = 0; expert < 32; ++expert) experts.push_back(expert);
  }
  std::atomic<int> asked{0};
};

TEST(Prediction, AChunkOfAPromptReadsWhatItChoosesAndNothingAhead) {
  Eager eager;
  PipelineOptions options;
  options.expert_cache.bytes = 8 * kSlot;
  options.read_positions = kPredictedSteps;
  const auto engine = Open(options, {}, &eager);
  ASSERT_NE(engine, nullptr);
  std::vector<text::TokenId> ids;
  for (uint32_t position = 0; position + 1 < kPredictedSteps; ++position) {
    ids.push_back(TokenAt(position));
  }
  engine->Want(text::StepOutput::kLast);
  const auto chunk = engine->Step(engine->EmptyState(), ids);
  ASSERT_TRUE(chunk.has_value()) << chunk.error().message;
  EXPECT_EQ(eager.asked, 0);
  EXPECT_EQ(engine->experts().ahead().issued, 0u);
  engine->Want(text::StepOutput::kAll);
  ASSERT_TRUE(engine->Step(chunk->after.back(), std::span(ids).first(1)).has_value());
  EXPECT_GT(eager.asked, 0);
}

TEST(NumericPrediction, LogitsAreThoseWithoutItWhateverIsPredicted) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  for (const char* engine_name : {"pread", "auto", "memory"}) {
    for (const uint64_t slots : {1, 6, 12, 256}) {
      for (const Kind kind : {Kind::kRight, Kind::kWrong, Kind::kRandom}) {
        SCOPED_TRACE(testing::Message()
                     << engine_name << ", " << slots << " slots, kind " << static_cast<int>(kind));
        Oracle oracle(kind, seed);
        PipelineOptions options;
        options.expert_cache.bytes = slots * kSlot;
        options.pin = slots == 12 ? "10" : "0";
        io::IoOptions io_options;
        io_options.ioengine = engine_name;
        const auto engine = Open(options, io_options, &oracle);
        ASSERT_NE(engine, nullptr);
        const Outcome outcome = RunSteps(*engine);
        ASSERT_EQ(outcome.logits.size(), Expected().logits.size());
        EXPECT_EQ(
            std::memcmp(outcome.logits.data(), Expected().logits.data(), outcome.logits.size()), 0);
        ExpectAllHome(*engine);
        ExpectBooks(*engine);
        const Ahead ahead = engine->experts().ahead();
        if (slots == 1) {
          EXPECT_EQ(ahead.issued, 0u) << "the one slot is the demands'";
        }
        if (kind == Kind::kRight) {
          EXPECT_EQ(ahead.wasted, 0u);
        }
        if (kind == Kind::kWrong) {
          EXPECT_EQ(ahead.useful, 0u);
        }
      }
    }
  }
}

TEST(NumericPrediction, LogitsAreThoseOfEveryModeOfPrediction) {
  for (const char* mode : {"off", "next", "previous", "both", "auto"}) {
    for (const char* pin : {"0", "10"}) {
      PipelineOptions options;
      options.predict = mode;
      options.pin = pin;
      options.expert_cache.bytes = 20 * kSlot;
      const auto engine = Open(options);
      ASSERT_NE(engine, nullptr);
      engine->PredictAlways(true);
      const Outcome outcome = RunSteps(*engine);
      ASSERT_EQ(outcome.logits.size(), Expected().logits.size());
      EXPECT_EQ(std::memcmp(outcome.logits.data(), Expected().logits.data(), outcome.logits.size()),
                0)
          << mode << ", pin " << pin;
      ExpectAllHome(*engine);
      ExpectBooks(*engine);
    }
  }
}

TEST(NumericPrediction, WhatIsRightIsReadAhead) {
  Oracle oracle(Kind::kRight, 0);
  PipelineOptions options;
  options.expert_cache.bytes = 12 * kSlot;
  io::IoOptions io_options;
  io_options.pace = "100M";  // A layer takes milliseconds: there is time to predict the next one.
  const auto engine = Open(options, io_options, &oracle);
  RunSteps(*engine);
  EXPECT_GT(engine->experts().ahead().useful, 0u);
  const StepStats& stats = engine->last_step();
  EXPECT_LE(stats.predicted_useful_bytes, stats.expert_bytes);
  EXPECT_EQ(stats.predicted_wasted_bytes, 0u);
}

TEST(FaultPrediction, AStepAfterAReadErrorIsThatOfACleanRun) {
  for (const Kind kind : {Kind::kRight, Kind::kWrong, Kind::kRandom}) {
    for (const char* fault : {"eio@200", "eio@251", "eio@303", "eio@330", "eio@377", "eio@401"}) {
      SCOPED_TRACE(fault);
      Oracle oracle(kind, 11);
      PipelineOptions options;
      options.expert_cache.bytes = 12 * kSlot;
      io::IoOptions io_options;
      io_options.ioengine = "pread";
      io_options.fault = fault;
      const auto engine = Open(options, io_options, &oracle);
      ASSERT_NE(engine, nullptr);
      int failures = 0;
      const Outcome outcome = RunSteps(*engine, &failures);
      EXPECT_LE(failures, 1);
      ASSERT_EQ(outcome.logits.size(), Expected().logits.size());
      EXPECT_EQ(std::memcmp(outcome.logits.data(), Expected().logits.data(), outcome.logits.size()),
                0);
      ExpectAllHome(*engine);
    }
  }
}

TEST(FaultPrediction, ACancelledStepLeavesNothingBehind) {
  for (const Kind kind : {Kind::kRight, Kind::kWrong}) {
    Oracle oracle(kind, 0);
    PipelineOptions options;
    options.pin = "10";
    options.expert_cache.bytes = 12 * kSlot;
    io::IoOptions io_options;
    io_options.pace = "10M";  // A step takes some 30 ms.
    const auto engine = Open(options, io_options, &oracle);
    for (const int after_us : {0, 2000, 9000, 17000}) {
      std::thread canceller([&] {
        std::this_thread::sleep_for(std::chrono::microseconds(after_us));
        engine->Cancel();
      });
      const text::TokenId id = TokenAt(0);
      const auto step = engine->Step(engine->EmptyState(), std::span(&id, 1));
      canceller.join();
      if (!step) {
        EXPECT_EQ(step.error().code, ErrorCode::kCancelled);
      }
      if (step) engine->Cancel();  // It came too late; the next step takes it.
      ExpectAllHome(*engine);
    }
    int failures = 0;
    const auto fresh = Open(options, io_options, &oracle);
    const Outcome outcome = RunSteps(*fresh, &failures);
    EXPECT_EQ(failures, 0);
    EXPECT_EQ(std::memcmp(outcome.logits.data(), Expected().logits.data(), outcome.logits.size()),
              0);
  }
}

TEST(Prediction, AllocatesNothingMoreInAHundredSteps) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer's allocator does not count";
#endif
  Oracle oracle(Kind::kRandom, 5);
  PipelineOptions options;
  options.expert_cache.bytes = 12 * kSlot;
  const auto engine = Open(options, {}, &oracle, 100);
  EXPECT_LE(GrowthInAHundredSteps(*engine), 100u * 32);
}

}  // namespace
}  // namespace penstock::k3
