#include "models/k3/engine.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "tests/models/k3/allocation.h"
#include "tests/models/k3/oracle/expectations.h"
#include "tests/models/k3/oracle/reference_model.h"
#include "tests/models/k3/tiny_model.h"

namespace penstock::k3 {
namespace {

// Whatever memory there is, the weights stream.
PipelineOptions Streaming() {
  PipelineOptions options;
  options.pin = "0";
  return options;
}

std::unique_ptr<Engine> OpenTiny(size_t context, const PipelineOptions& options = Streaming(),
                                 const io::IoOptions& io_options = {},
                                 const std::string& directory = kTiny) {
  auto engine = Engine::Open(directory, context, options, io_options, nullptr);
  EXPECT_TRUE(engine.has_value()) << engine.error().message;
  return engine ? std::move(*engine) : nullptr;
}

// One sequence on an engine, token by token.
struct Sequence {
  explicit Sequence(Engine& model) : engine(model), state(model.EmptyState()) {}

  Status Step(text::TokenId id) {
    auto result = engine.Step(state, std::span(&id, 1));
    if (!result) return result.error();
    state = result->after.back();
    logits.assign(result->logits.begin(), result->logits.end());
    return {};
  }
  text::TokenId Best() const {
    return static_cast<text::TokenId>(std::max_element(logits.begin(), logits.end()) -
                                      logits.begin());
  }

  Engine& engine;
  text::StateRef state;
  std::vector<float> logits;
};

TEST(NumericEngine, GreedyIdsAndLogitsOfTheFivePrompts) {
  const auto prompts = oracle::ReadTinyExpectations();
  ASSERT_TRUE(prompts.has_value()) << prompts.error().message;
  ASSERT_EQ(prompts->size(), 5u);
  for (const oracle::Expectation& prompt : *prompts) {
    const auto engine = OpenTiny(prompt.ids.size() + prompt.greedy.size());
    ASSERT_NE(engine, nullptr);
    Sequence sequence(*engine);
    for (const auto id : prompt.ids) ASSERT_TRUE(sequence.Step(id).has_value());
    float largest = 0;
    float worst = 0;
    for (size_t i = 0; i < prompt.logits.size(); ++i) {
      largest = std::max(largest, std::abs(prompt.logits[i]));
      worst = std::max(worst, std::abs(prompt.logits[i] - sequence.logits[i]));
    }
    EXPECT_LE(worst, 1e-4f * largest);
    std::vector<text::TokenId> got;
    for (size_t i = 0; i < prompt.greedy.size(); ++i) {
      got.push_back(sequence.Best());
      ASSERT_TRUE(sequence.Step(got.back()).has_value());
    }
    EXPECT_EQ(got, prompt.greedy) << prompt.text;
  }
}

TEST(Engine, RefusesWhatItCannotTake) {
  const auto engine = OpenTiny(2);
  Sequence sequence(*engine);
  const Status unknown = sequence.Step(2048);
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().code, ErrorCode::kRefused);
  ASSERT_TRUE(sequence.Step(1).has_value());
  ASSERT_TRUE(sequence.Step(1).has_value());
  const Status beyond = sequence.Step(1);
  ASSERT_FALSE(beyond.has_value());
  EXPECT_EQ(beyond.error().code, ErrorCode::kRefused);
}

TEST(Engine, VersionsBranchAndEveryLiveOneStaysReadable) {
  const auto engine = OpenTiny(80);
  Sequence trunk(*engine);
  for (text::TokenId id = 100; id < 103; ++id) ASSERT_TRUE(trunk.Step(id).has_value());
  Sequence left = trunk;
  trunk.state.reset();
  ASSERT_TRUE(left.Step(7).has_value());
  const std::vector<float> expected = left.logits;
  const text::StateRef before = [&] {
    Sequence again(*engine);
    left.state.reset();
    for (text::TokenId id = 100; id < 103; ++id) EXPECT_TRUE(again.Step(id).has_value());
    return again.state;
  }();
  // Two continuations of one version, the second after the first has gone on in the shared page.
  for (const text::TokenId first : {9u, 7u}) {
    Sequence branch(*engine);
    branch.state = before;
    ASSERT_TRUE(branch.Step(first).has_value());
    if (first == 7) {
      EXPECT_EQ(std::memcmp(branch.logits.data(), expected.data(), expected.size() * 4), 0);
    }
  }
}

TEST(FaultEngine, AReadErrorEndsTheStepAndTheNextOneGoesOn) {
  const auto clean = OpenTiny(8);
  Sequence expected(*clean);
  for (const text::TokenId id : {5u, 6u, 7u}) ASSERT_TRUE(expected.Step(id).has_value());
  for (const char* engine_name : {"pread", "auto", "memory"}) {
    // The resident vectors take some 130 reads; after them the faults fall into the steps.
    for (const char* fault : {"eio@200", "eio@250", "eio@330", "eio@401"}) {
      io::IoOptions io_options;
      io_options.ioengine = engine_name;
      io_options.fault = fault;
      PipelineOptions options = Streaming();
      options.expert_cache.bytes = 64 << 10;
      const auto engine = OpenTiny(8, options, io_options);
      ASSERT_NE(engine, nullptr);
      Sequence sequence(*engine);
      int failures = 0;
      for (const text::TokenId id : {5u, 6u, 7u}) {
        for (Status status = sequence.Step(id); !status; status = sequence.Step(id)) {
          EXPECT_EQ(status.error().code, ErrorCode::kFailed);
          ASSERT_LT(++failures, 5) << status.error().message;
        }
      }
      EXPECT_EQ(failures, 1) << engine_name << " " << fault;
      EXPECT_EQ(std::memcmp(sequence.logits.data(), expected.logits.data(),
                            expected.logits.size() * sizeof(float)),
                0);
    }
  }
}

TEST(FaultEngine, ACancelledStepLeavesTheStateAsItWas) {
  const auto clean = OpenTiny(8);
  Sequence expected(*clean);
  for (const text::TokenId id : {5u, 6u}) ASSERT_TRUE(expected.Step(id).has_value());
  io::IoOptions slow;
  slow.pace = "40M";  // A step takes some 100 ms.
  const auto engine = OpenTiny(8, Streaming(), slow);
  Sequence sequence(*engine);
  ASSERT_TRUE(sequence.Step(5).has_value());
  for (const int after_ms : {0, 5, 20, 45, 70}) {
    std::thread canceller([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(after_ms));
      engine->Cancel();
    });
    const Status status = sequence.Step(6);
    canceller.join();
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().code, ErrorCode::kCancelled);
  }
  ASSERT_TRUE(sequence.Step(6).has_value());
  EXPECT_EQ(std::memcmp(sequence.logits.data(), expected.logits.data(),
                        expected.logits.size() * sizeof(float)),
            0);
}

// Overwrites the first scale byte of one expert's gate matrix with the code of NaN.
void PlantNan(const std::string& directory, size_t layer, size_t expert) {
  const TinyModel tiny;
  const io::Extent scale = tiny.catalogue->expert(layer, expert).w1_scale;
  const std::string name =
      std::filesystem::path(tiny.catalogue->FileName(scale.file)).filename().string();
  std::fstream file(directory + "/" + name, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(scale.offset));
  file.put(static_cast<char>(0xff));
}

TEST(FaultEngine, ANanInOneExpertIsUnsoundAndNamesLayerAndStep) {
  auto reference = oracle::ReferenceModel::Load(kTiny);
  ASSERT_TRUE(reference.has_value());
  reference->Step(301);
  reference->Step(5);  // Step 1: the expert that layer 6 chooses first.
  const size_t expert = reference->trace()[6].routing.experts[0];
  const std::string directory = testing::TempDir() + "penstock_nan_" + std::to_string(getpid());
  std::filesystem::remove_all(directory);
  std::filesystem::copy(kTiny, directory);
  PlantNan(directory, 6, expert);
  const auto engine = OpenTiny(4, Streaming(), {}, directory);
  Sequence sequence(*engine);
  Status status = sequence.Step(301);
  if (status) status = sequence.Step(5);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, ErrorCode::kUnsound);
  EXPECT_EQ(status.error().where.rfind("layer 6, step ", 0), 0u) << status.error().where;
  std::filesystem::remove_all(directory);
}

TEST(Engine, AllocatesNothingMoreInAHundredSteps) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer's allocator does not count";
#endif
  const auto engine = OpenTiny(100);
  EXPECT_LE(GrowthInAHundredSteps(*engine), 100u * 32);
}

// With one CPU oneTBB's own pool has no worker at all: a step that relied on it would never end.
TEST(Engine, RunsOnOneCpu) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &before)) ++cpu;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  {
    const auto engine = OpenTiny(4);
    ASSERT_NE(engine, nullptr);
    Sequence sequence(*engine);
    for (const text::TokenId id : {5u, 6u}) EXPECT_TRUE(sequence.Step(id).has_value());
    EXPECT_EQ(engine->workers_seen(), 1u);
  }
  sched_setaffinity(0, sizeof(before), &before);
}

TEST(Engine, TheStepsBytesAreThoseOfThePassAndTheExperts) {
  PipelineOptions options = Streaming();
  options.expert_cache.bytes = 16 << 10;  // One expert: every one is a miss.
  const auto engine = OpenTiny(8, options);
  Sequence sequence(*engine);
  ASSERT_TRUE(sequence.Step(1).has_value());
  ASSERT_TRUE(sequence.Step(2).has_value());
  const StepStats& stats = engine->last_step();
  const TinyModel tiny;
  uint64_t trunk = 0;
  uint64_t head = 0;
  for (const PassExtent& extent : tiny.pass->extents()) {
    (tiny.pass->ProductOf(extent).role == Role::kHead ? head : trunk) += extent.extent.bytes;
  }
  EXPECT_EQ(stats.n, 1u);
  EXPECT_EQ(stats.trunk_bytes, trunk);
  EXPECT_EQ(stats.head_bytes, head);
  EXPECT_EQ(stats.embed_bytes, 256u);
  EXPECT_EQ(stats.expert_misses, 8u * 4);
  EXPECT_EQ(stats.expert_bytes, 8u * 4 * 3 * 64 * 96 * 17 / 32);
}

TEST(Engine, ThePictureNamesEveryStage) {
  const auto engine = OpenTiny(2);
  const std::string dot = engine->GraphDot(false);
  for (const char* stage :
       {"admit",          "read",        "meet",         "product",       "attend",  "embed",
        "advance",        "mix",         "kda",          "append latent", "gate",    "activate",
        "choose experts", "cache slots", "fetch expert", "expert",        "predict", "gather",
        "combine",        "commit"}) {
    EXPECT_NE(dot.find("\"" + std::string(stage) + "\" [shape"), std::string::npos) << stage;
  }
}

}  // namespace
}  // namespace penstock::k3
