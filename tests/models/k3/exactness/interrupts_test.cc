// A run that is interrupted anywhere leaves what serial decoding had, and goes on from there.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <thread>
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

// A step that fails by itself while it is cancelled: then the next one is, which may be its repetition.
TEST(NumericInterrupts, ACancelIsNotLostToAnotherFailure) {
  auto engine = Engine::Open(kTiny, 20, {}, BufferedPread(), nullptr);
  ASSERT_TRUE(engine.has_value()) << engine.error().message;
  const text::TokenId id = 1;
  const auto step = [&] { return (*engine)->Step((*engine)->EmptyState(), {&id, 1}); };
  std::vector<text::StateRef> branches;  // As many as there is memory for.
  while (branches.empty() || branches.back()) {
    auto after = step();
    branches.push_back(after ? after->after.back() : nullptr);
  }
  for (int run = 0; run < 200; ++run) {
    std::atomic<bool> stepping{false};
    std::thread canceller([&] {
      while (!stepping) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::microseconds(run * 5));
      (*engine)->Cancel();
    });
    stepping = true;
    const auto failed = step();
    canceller.join();
    ASSERT_FALSE(failed.has_value());
    if (failed.error().code == ErrorCode::kCancelled) continue;
    const auto next = step();
    ASSERT_FALSE(next.has_value());
    ASSERT_EQ(next.error().code, ErrorCode::kCancelled) << run;
  }
}

// --- runs that are interrupted again and again ---

Task DrawGeneration(std::mt19937& random, size_t vocab) {
  Task task;
  task.n = 4 + random() % 20;
  task.prompt = DrawText(random, 1 + random() % 70, vocab);
  if (random() % 2 == 0) task.sampling = {.temp = 0.8, .seed = random()};
  return task;
}

PipelineOptions DrawBudget(std::mt19937& random, const MemoryPlan& least) {
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  constexpr const char* kPredict[] = {"auto", "off", "next", "previous", "both"};
  constexpr const char* kPin[] = {"0", "0", "auto", "1"};
  PipelineOptions options;
  options.ring.bytes = least.largest_extent + below(2) * below(1 << 20);
  options.expert_cache.bytes = least.slot_bytes * (1 + below(2) * below(40));
  options.pin = kPin[below(4)];
  options.depth = below(3);
  options.predict = kPredict[below(5)];
  options.threads = 1 + below(3);
  options.positions = 1 + below(9);
  options.read_positions = 1 + below(70);
  return options;
}

std::string TextOf(const PipelineOptions& options) {
  std::ostringstream out;
  out << "ring " << options.ring.bytes << " cache " << options.expert_cache.bytes << " pin "
      << options.pin << " depth " << options.depth << " predict " << options.predict << " threads "
      << options.threads << " positions " << options.positions << " read " << options.read_positions
      << " pack " << options.pack << " decode " << options.decode;
  return out.str();
}

// Drafts of any length, of which each id is right four times in five.
text::Drafting MostlyRight(const Ids& truth, size_t vocab, std::mt19937& random) {
  auto drafter = std::make_unique<text::ScriptedDrafter>([&](const Ids& sequence, size_t n) {
    Ids draft;
    for (size_t i = sequence.size(); i < truth.size() && draft.size() < random() % (n + 1); ++i) {
      draft.push_back(random() % 5 == 0 ? static_cast<text::TokenId>(random() % vocab) : truth[i]);
    }
    return draft;
  });
  return {std::move(drafter), text::DraftEconomics(8, /*always=*/true)};
}

// Generates a task with interrupts, each time from where the last attempt has come to.
class InterruptedRun {
 public:
  // The interrupts outlive the engine, whose weights side may run on and tell them.
  InterruptedRun(Engine& engine, const Task& task, const Shown& serial, std::mt19937& random,
                 std::vector<std::unique_ptr<Interrupt>>& interrupts)
      : engine_(engine),
        task_(task),
        serial_(serial),
        random_(random),
        interrupts_(interrupts),
        sequence_(task.prompt),
        folds_(serial.prompt_folds) {
    folds_.insert(folds_.end(), serial.folds.begin(), serial.folds.end());
    truth_ = task.prompt;
    truth_.insert(truth_.end(), serial.ids.begin(), serial.ids.end());
  }
  ~InterruptedRun() { engine_.Observe(nullptr); }

  // At most `disturbed` attempts that are interrupted; a cancel that comes after the last step of one
  // is another's.
  void Go(size_t disturbed) {
    for (size_t attempt = 0; attempt < disturbed + 2 && !done(); ++attempt) {
      SCOPED_TRACE(testing::Message() << "attempt " << attempt);
      std::thread canceller;
      if (attempt < disturbed) canceller = Disturb();
      Attempt();
      if (canceller.joinable()) canceller.join();
      engine_.Observe(nullptr);
      if (testing::Test::HasFatalFailure()) return;
    }
    EXPECT_TRUE(done());
  }
  size_t cancelled() const { return cancelled_; }

 private:
  bool done() const { return sequence_.size() == truth_.size(); }

  // From a stage that begins, or at any time.
  std::thread Disturb() {
    constexpr const char* kStages[] = {"", "kda", "combine", "append latent", "expert", "advance"};
    const size_t at = random_() % 7;
    if (at < 6) {
      interrupts_.push_back(std::make_unique<Interrupt>(engine_, kStages[at], random_() % 60));
      engine_.Observe(interrupts_.back().get());
      return {};
    }
    return std::thread([this, wait = std::chrono::microseconds(random_() % 20000)] {
      std::this_thread::sleep_for(wait);
      engine_.Cancel();
    });
  }

  void Attempt() {
    text::StateRef waits;  // A version that the caller keeps for a while.
    const size_t wait_at = random_() % (2 * task_.n);
    text::GenerateCallbacks callbacks;
    callbacks.on_token = [&](const text::TokenRecord& token) {
      const size_t index = token.position - task_.prompt.size();
      EXPECT_EQ(token.id, serial_.ids[index]) << index;
      EXPECT_EQ(engine_.Fold(token.state), serial_.folds[index]) << index;
      EXPECT_TRUE(std::equal(token.logits.begin(), token.logits.end(),
                             serial_.logits[index].begin(), serial_.logits[index].end()));
      if (index == wait_at) waits = token.state;
      return true;
    };
    const size_t consumed = state_ ? state_->position() : 0;
    const std::span<const text::TokenId> known(sequence_);
    text::Drafting drafting = MostlyRight(truth_, engine_.vocab_size(), random_);
    drafting.drafter->Append(known.first(consumed));
    text::GenerateOptions options;
    options.n = truth_.size() - sequence_.size();
    options.ignore_eos = true;
    if (random_() % 3 != 0) options.prefill_chunk = 1 + random_() % 30;
    auto sampler = text::Sampler::Create(task_.sampling);
    auto ran = text::Generate(engine_, known.subspan(consumed), *sampler, {}, options, callbacks,
                              {.drafting = &drafting, .state = std::move(state_)});
    if (ran.error) {
      ASSERT_EQ(ran.error->code, ErrorCode::kCancelled) << ran.error->message;
      ++cancelled_;
    }
    state_ = std::move(ran.state);
    sequence_.insert(sequence_.end(), ran.ids.begin(), ran.ids.end());
    for (const text::StateRef& version : {state_, waits}) {
      if (!version) continue;
      ASSERT_LT(version->position(), folds_.size());
      ASSERT_EQ(engine_.Fold(version), folds_[version->position()]) << version->position();
    }
  }

  Engine& engine_;
  const Task& task_;
  const Shown& serial_;
  std::mt19937& random_;
  std::vector<std::unique_ptr<Interrupt>>& interrupts_;
  Ids sequence_, truth_;         // Known so far; all of it.
  std::vector<uint64_t> folds_;  // By position.
  text::StateRef state_;
  size_t cancelled_ = 0;
};

MemoryPlan LeastOf(const std::string& model, const std::string& pack) {
  PipelineOptions options;
  options.pin = "0";
  options.pack = pack;
  const auto engine = Engine::Open(model, 1, options, BufferedPread(), nullptr);
  EXPECT_TRUE(engine.has_value()) << engine.error().message;
  return (*engine)->plan();
}

// Several budgets for one task.
size_t ExpectSerialAfterInterrupts(const std::string& model, const std::string& pack, size_t vocab,
                                   int budgets, std::mt19937& random) {
  const Task task = DrawGeneration(random, vocab);
  Shown serial = ShowSerial(model, task);
  const MemoryPlan least = LeastOf(model, pack);
  size_t cancelled = 0;
  for (int budget = 0; budget < budgets && !testing::Test::HasFailure(); ++budget) {
    PipelineOptions options = DrawBudget(random, least);
    options.pack = pack;
    if (!pack.empty()) options.decode = random() % 2 == 0 ? "node" : "fused";
    SCOPED_TRACE(TextOf(options));
    std::vector<std::unique_ptr<Interrupt>> interrupts;
    auto engine =
        Engine::Open(model, task.prompt.size() + task.n, options, BufferedPread(), nullptr);
    EXPECT_TRUE(engine.has_value()) << engine.error().message;
    if (!engine) break;
    InterruptedRun run(**engine, task, serial, random, interrupts);
    run.Go(4);
    cancelled += run.cancelled();
  }
  return cancelled;
}

TEST(NumericInterrupts, ARunGoesOnFromWhereverItWasInterruptedAtAnyShapeAndBudget) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  size_t cancelled = 0;
  for (int shapes = 0; shapes < 4 && !HasFailure(); ++shapes) {
    const SynthOptions shape = DrawShape(random);
    const std::string model = SynthesizedIn("interrupts", shape);
    cancelled += ExpectSerialAfterInterrupts(model, "", shape.vocab, 3, random);
    std::filesystem::remove_all(model);
  }
  EXPECT_GT(cancelled, 5u);
}

TEST(NumericInterrupts, ARunFromAPackDoesToo) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const PackFolder folder;
  const std::string pack = folder.PackTiny("huffman");
  EXPECT_GT(ExpectSerialAfterInterrupts(kTiny, pack, 2048, 3, random), 1u);
}

}  // namespace
}  // namespace penstock::k3
