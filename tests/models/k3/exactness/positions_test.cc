// A step of several positions gives the bits of as many steps of one, whatever becomes of the
// versions it leaves.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "models/k3/engine.h"
#include "models/k3/synth/synth.h"
#include "tests/models/k3/exactness/random_shape.h"
#include "tests/models/k3/tiny_model.h"

namespace penstock::k3 {
namespace {

constexpr size_t kMostAtOnce = 9;

std::unique_ptr<Engine> OpenMany(const std::string& model, size_t context,
                                 PipelineOptions options = {}) {
  options.positions = kMostAtOnce;
  options.read_positions = 70;
  io::IoOptions buffered;  // Sizes are rounded out alike whatever the files' system.
  buffered.direct = "0";
  auto engine = Engine::Open(model, context, options, buffered, nullptr);
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
  PipelineOptions streaming;
  streaming.pin = "0";
  const uint64_t extent = OpenMany(kTiny, 1, streaming)->plan().largest_extent;
  for (int run = 0; run < 6; ++run) {
    PipelineOptions options;
    options.threads = 1 + random() % 3;
    options.pin = run % 2 == 0 ? "0" : "auto";
    options.predict = run % 3 == 0 ? "auto" : "off";
    if (run % 2 == 0) options.expert_cache.bytes = 16 << 10;  // One expert.
    if (run % 2 == 0) options.ring.bytes = extent;
    const auto engine = OpenMany(kTiny, serial.ids.size(), options);
    ASSERT_NE(engine, nullptr);
    ASSERT_NO_FATAL_FAILURE(ExpectSerialBits(serial, *engine, random)) << "run " << run;
  }
}

TEST(NumericPositions, AtRandomShapes) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int run = 0; run < 4; ++run) {
    SynthOptions shape = DrawShape(random);
    shape.out = testing::TempDir() + "penstock_positions_" + std::to_string(getpid());
    std::filesystem::remove_all(shape.out);
    const auto made = Synthesize(shape, {});
    ASSERT_TRUE(made.has_value()) << made.error().message;
    PipelineOptions options;
    options.pin = "0";
    const Serial serial(shape.out, DrawIds(random, 70, shape.vocab));
    const auto engine = OpenMany(shape.out, serial.ids.size(), options);
    ASSERT_NE(engine, nullptr);
    ASSERT_NO_FATAL_FAILURE(ExpectSerialBits(serial, *engine, random)) << "run " << run;
    std::filesystem::remove_all(shape.out);
  }
}

TEST(NumericPositions, EveryPrefixOfADraftCanBeGoneOnFrom) {
  std::mt19937 random(5);
  const Serial serial(kTiny, DrawIds(random, 12, 2048));
  const auto engine = OpenMany(kTiny, 20);
  const std::span<const text::TokenId> ids(serial.ids);
  for (size_t keep = 1; keep <= 8; ++keep) {
    text::StateRef state = engine->EmptyState();
    state = engine->Step(state, ids.first(2))->after.back();
    std::vector<text::TokenId> draft(ids.begin() + 2, ids.begin() + 10);
    for (size_t t = keep; t < draft.size(); ++t) draft[t] = 7;
    state = engine->Step(state, draft)->after[keep - 1];
    const auto step = engine->Step(state, ids.subspan(2 + keep, 2));
    ASSERT_TRUE(step.has_value()) << step.error().message;
    ASSERT_NO_FATAL_FAILURE(ExpectRows(serial, 2 + keep, *step, *engine)) << "keep " << keep;
  }
}

// A prompt that is read leaves one version, which goes on as any other; given up, none.
TEST(NumericPositions, APromptThatIsReadLeavesItsLastVersion) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const Serial serial(kTiny, DrawIds(random, 80, 2048));
  const std::span<const text::TokenId> ids(serial.ids);
  const auto engine = OpenMany(kTiny, 80);
  for (int run = 0; run < 4; ++run) {
    text::StateRef state = engine->EmptyState();
    while (state->position() < ids.size()) {
      const size_t first = state->position();
      const bool read = random() % 2 == 0;
      const size_t most = read ? engine->max_read_positions() : kMostAtOnce;
      const size_t count = std::min(1 + random() % most, ids.size() - first);
      engine->Want(read ? text::StepOutput::kLast : text::StepOutput::kAll);
      auto step = engine->Step(state, ids.subspan(first, count));
      ASSERT_TRUE(step.has_value()) << step.error().message;
      ASSERT_EQ(step->after.size(), read ? 1 : count);
      ASSERT_EQ(engine->Fold(state), serial.folds[first]);
      const auto row = step->logits.last(engine->vocab_size());
      state = step->after.back();
      ASSERT_EQ(
          std::memcmp(row.data(), serial.logits[state->position() - 1].data(), row.size_bytes()),
          0);
      ASSERT_EQ(engine->Fold(state), serial.folds[state->position()]);
    }
  }
}

// Cancels the run in the body of a stage of this name that begins as number `at`.
class CancelAt : public StepObserver {
 public:
  CancelAt(Engine& engine, std::string stage, size_t at)
      : engine_(engine), stage_(std::move(stage)), left_(static_cast<long>(at)) {}
  void Begins(const graph::NodeFacts& node, graph::Subject*) override {
    if (node.name == stage_ && left_.fetch_sub(1) == 0) engine_.Cancel();
  }

 private:
  Engine& engine_;
  const std::string stage_;
  std::atomic<long> left_;
};

TEST(NumericPositions, AStepCancelledHalfWayLeavesEveryVersionAsItWas) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const Serial serial(kTiny, DrawIds(random, 16, 2048));
  const std::span<const text::TokenId> ids(serial.ids);
  std::vector<std::unique_ptr<CancelAt>> cancellers;  // The weights side may run on and tell them.
  const auto engine = OpenMany(kTiny, 20);
  int cancelled = 0;
  for (int run = 0; run < 12; ++run) {
    const char* const stage = run % 3 == 2 ? "combine" : "kda";
    std::vector<text::StateRef> held{
        engine->Step(engine->EmptyState(), ids.first(3))->after.back()};
    auto drafted = engine->Step(held[0], ids.subspan(3, 4));
    ASSERT_TRUE(drafted.has_value()) << drafted.error().message;
    if (run % 2 == 0) held.clear();  // Else a saved branch, for which bases are copied.
    if (random() % 3 == 0) held.push_back(drafted->after[0]);
    held.push_back(std::move(drafted->after[2]));
    if (run % 4 < 2) held.push_back(std::move(drafted->after[3]));
    drafted->after.clear();
    const text::StateRef before = held.back();
    for (int attempt = 0; attempt < 3; ++attempt) {
      cancellers.push_back(std::make_unique<CancelAt>(*engine, stage, random() % 18));
      engine->Observe(cancellers.back().get());
      const auto step = engine->Step(before, ids.subspan(before->position(), 5));
      engine->Observe(nullptr);
      cancelled += !step.has_value();
      for (const text::StateRef& version : held) {
        ASSERT_EQ(engine->Fold(version), serial.folds[version->position()])
            << "run " << run << ", " << stage << ", position " << version->position();
      }
    }
    const auto step = engine->Step(before, ids.subspan(before->position(), 5));
    ASSERT_TRUE(step.has_value()) << step.error().message;
    ASSERT_NO_FATAL_FAILURE(ExpectRows(serial, before->position(), *step, *engine));
    for (const text::StateRef& version : held) {
      ASSERT_EQ(engine->Fold(version), serial.folds[version->position()]) << "run " << run;
    }
  }
  EXPECT_GT(cancelled, 12);
}

TEST(Positions, EachExpertIsDemandedOnceForAllOfThem) {
  PipelineOptions options;
  options.pin = "0";
  options.predict = "off";
  options.expert_cache.bytes = 16 << 10;  // One expert.
  const auto engine = OpenMany(kTiny, 20, options);
  std::mt19937 random(7);
  const std::vector<text::TokenId> ids = DrawIds(random, 7, 2048);
  ASSERT_TRUE(engine->Step(engine->EmptyState(), ids).has_value());
  std::set<std::pair<uint32_t, uint32_t>> experts;
  uint64_t chosen = 0;
  for (const Route& route : engine->last_routes()) {
    EXPECT_EQ(route.n, 0u);
    EXPECT_LT(route.position, ids.size());
    chosen += route.chosen.size();
    for (const uint32_t expert : route.chosen) experts.emplace(route.layer, expert);
  }
  const StepStats& stats = engine->last_step();
  EXPECT_EQ(chosen, 7u * 8 * 4);
  EXPECT_LT(experts.size(), chosen);
  EXPECT_EQ(stats.expert_misses, experts.size());
  EXPECT_EQ(stats.expert_bytes, experts.size() * 3 * 64 * 96 * 17 / 32);
  EXPECT_EQ(stats.embed_bytes, 7u * 256);
}

// Looks at what the layers demand, in the order in which they do.
class DemandOrder : public RouteSink, public StepObserver {
 public:
  void Chosen(const Context& context, size_t position) override {
    context_ = &context;
    if (position == 0 && context.moe_ordinal > 0) ExpectEarliestFirst();
    if (position == 0) first_seen_.clear();
    const uint32_t* const chosen = context.act.chosen[position];
    for (size_t rank = 0; rank < context.shape.top_k; ++rank) {
      const bool known =
          std::find(first_seen_.begin(), first_seen_.end(), chosen[rank]) != first_seen_.end();
      if (!known) first_seen_.push_back(chosen[rank]);
    }
  }
  void Begins(const graph::NodeFacts& node, graph::Subject* subject) override {
    if (node.name != "fetch expert") return;
    if (subject->item == 0) fetched_ = 0;
    EXPECT_EQ(subject->item, fetched_++);
  }
  // Of the layer that has chosen last.
  void ExpectEarliestFirst() {
    ++layers;
    ASSERT_EQ(context_->experts.size(), first_seen_.size());
    for (size_t i = 0; i < first_seen_.size(); ++i) {
      EXPECT_EQ(context_->experts[i].expert, first_seen_[i]);
    }
    EXPECT_EQ(fetched_, first_seen_.size());
  }
  size_t layers = 0;

 private:
  const Context* context_ = nullptr;
  std::vector<uint32_t> first_seen_;
  uint32_t fetched_ = 0;
};

TEST(Positions, ExpertsAreDemandedOnceEarliestPositionFirstWhateverIsCached) {
  DemandOrder order;
  PipelineOptions options;
  options.pin = "0";
  options.predict = "off";
  options.expert_cache.bytes = 40 * (12 << 10);
  const auto engine = OpenMany(kTiny, 60, options);
  engine->ObserveRoutes(&order);
  engine->Observe(&order);
  std::mt19937 random(9);
  text::StateRef state = engine->EmptyState();
  uint64_t hits = 0;
  for (size_t step = 0; step < 6; ++step) {
    const size_t count = 1 + random() % kMostAtOnce;
    auto after = engine->Step(state, DrawIds(random, count, 40));
    ASSERT_TRUE(after.has_value()) << after.error().message;
    state = after->after.back();
    order.ExpectEarliestFirst();
    std::set<std::pair<uint32_t, uint32_t>> experts;
    for (const Route& route : engine->last_routes()) {
      for (const uint32_t expert : route.chosen) experts.emplace(route.layer, expert);
    }
    const StepStats& stats = engine->last_step();
    EXPECT_EQ(stats.expert_hits + stats.expert_misses, experts.size());
    EXPECT_EQ(stats.expert_bytes, stats.expert_misses * kTinyExpertBytes);
    hits += stats.expert_hits;
  }
  EXPECT_GT(hits, 0u);
  EXPECT_EQ(order.layers, 6 * engine->config().shape.moe_layers());
  engine->ObserveRoutes(nullptr);
  engine->Observe(nullptr);
}

TEST(Positions, MoreThanAStepTakesIsRefused) {
  const auto engine = OpenMany(kTiny, 12);
  EXPECT_EQ(engine->max_positions(), kMostAtOnce);
  const std::vector<text::TokenId> ids(kMostAtOnce + 1, 5);
  const std::span<const text::TokenId> all(ids);
  for (const auto tokens : {all, all.first(0)}) {
    const auto step = engine->Step(engine->EmptyState(), tokens);
    ASSERT_FALSE(step.has_value());
    EXPECT_EQ(step.error().code, ErrorCode::kRefused);
  }
  const auto nine = engine->Step(engine->EmptyState(), all.first(9));
  ASSERT_TRUE(nine.has_value());
  const auto beyond = engine->Step(nine->after.back(), all.first(4));
  ASSERT_FALSE(beyond.has_value()) << "of 12 positions";
  EXPECT_EQ(beyond.error().code, ErrorCode::kRefused);
}

}  // namespace
}  // namespace penstock::k3
