// Whatever is drafted and however the prompt is cut, a run of the engine shows what serial decoding
// shows: ids, rows, log-probabilities and what the state has become after each token.
#include <algorithm>
#include <memory>

#include "models/text/draft/ngram_drafter.h"
#include "tests/models/k3/exactness/transcript.h"
#include "tests/models/k3/tiny_model.h"
#include "tests/models/text/history_model.h"

namespace penstock::k3 {
namespace {

using Ids = std::vector<text::TokenId>;

constexpr size_t kDraftVocab = 2048;
constexpr size_t kDraftPositions = 8;
constexpr size_t kDraftChunk = 70;

std::unique_ptr<Engine> OpenDrafting(size_t context, std::mt19937& random) {
  PipelineOptions options;
  options.positions = kDraftPositions;
  options.read_positions = kDraftChunk;
  options.threads = 1 + random() % 3;
  if (random() % 2 == 0) {
    options.pin = "0";
    options.expert_cache.bytes = 16 << 10;  // One expert.
  }
  auto engine = Engine::Open(kTiny, context, options, BufferedPread(), nullptr);
  EXPECT_TRUE(engine.has_value()) << engine.error().message;
  return engine ? std::move(*engine) : nullptr;
}

enum class Guess { kRight, kWrong, kRandom, kLastWrong, kNgram, kEdge, kEnd };

// `truth` is prompt and continuation.
text::ScriptedDrafter::Script Guessing(Guess guess, Ids truth, text::TokenId end, unsigned seed) {
  auto random = std::make_shared<std::mt19937>(seed);
  return [=](const Ids& sequence, size_t n) {
    const size_t begin = std::min(sequence.size(), truth.size());
    Ids draft(truth.begin() + static_cast<long>(begin),
              truth.begin() + static_cast<long>(std::min(truth.size(), begin + n)));
    const auto wrong = [](text::TokenId& id) { id = (id + 1) % kDraftVocab; };
    if (draft.empty()) return draft;
    if (guess == Guess::kWrong) wrong(draft.front());
    if (guess == Guess::kLastWrong) wrong(draft.back());
    if (guess == Guess::kRandom) {
      for (text::TokenId& id : draft) {
        if ((*random)() % 4 == 0) id = static_cast<text::TokenId>((*random)() % kDraftVocab);
      }
      draft.resize((*random)() % (draft.size() + 1));
    }
    // The last id there is, then one that is none; and one that ends the run.
    if (guess == Guess::kEdge) draft.back() = kDraftVocab;
    if (guess == Guess::kEdge && draft.size() > 1) draft[draft.size() - 2] = kDraftVocab - 1;
    if (guess == Guess::kEnd) draft[(*random)() % draft.size()] = end;
    return draft;
  };
}

text::Drafting DraftingOf(Guess guess, const Ids& truth, const Task& task, size_t longest,
                          unsigned seed) {
  std::unique_ptr<text::Drafter> drafter;
  if (guess == Guess::kNgram) {
    drafter = std::make_unique<text::NgramDrafter>(1);
  } else {
    drafter = std::make_unique<text::ScriptedDrafter>(
        Guessing(guess, truth, task.eos.empty() ? 0 : task.eos[0], seed));
  }
  return {std::move(drafter), text::DraftEconomics(longest, /*always=*/true)};
}

// A task of each kind, and what serial decoding shows of it; the same for all drafters.
struct Serially {
  explicit Serially(unsigned seed_in) : seed(seed_in) {
    std::mt19937 random(seed);
    for (size_t kind = 0; kind < 3; ++kind) {
      Task& task = tasks.emplace_back();
      task.n = 20;
      task.prompt = DrawText(random, 1 + random() % 75, kDraftVocab);
      if (kind == 1) task.sampling = {.temp = 0.8, .seed = random()};
      if (kind == 2) {  // What repeats, for the drafter that looks for it.
        const Ids once = DrawText(random, 9, kDraftVocab);
        task.forced = once;
        task.forced[3] = kDraftVocab - 1;
        task.forced.insert(task.forced.end(), once.begin(), once.end());
      }
      shown.push_back(ShowSerial(kTiny, task));
    }
  }
  unsigned seed;
  std::vector<Task> tasks;
  std::vector<Shown> shown;
};

class NumericDrafts : public testing::TestWithParam<Guess> {
 protected:
  static void SetUpTestSuite() { serially_ = std::make_unique<Serially>(std::random_device{}()); }
  static void TearDownTestSuite() { serially_.reset(); }

  void ExpectCounts(const Shown& shown, size_t longest) const;

  static std::unique_ptr<const Serially> serially_;
  size_t drafted_ = 0, accepted_ = 0;
};

std::unique_ptr<const Serially> NumericDrafts::serially_;

// What the drafter implies, step by step.
void NumericDrafts::ExpectCounts(const Shown& shown, size_t longest) const {
  for (const text::StepRecord& step : shown.steps) {
    EXPECT_LE(step.drafted, longest);
    if (step.drafted == 0) continue;
    switch (GetParam()) {
      case Guess::kRight:
      case Guess::kEnd:
        EXPECT_EQ(step.accepted, step.drafted);
        break;
      case Guess::kWrong:
        EXPECT_EQ(step.accepted, 0u);
        break;
      case Guess::kLastWrong:
        EXPECT_EQ(step.accepted, step.drafted - 1);
        break;
      case Guess::kEdge:
        EXPECT_GE(step.accepted, step.drafted - 1);
        break;
      case Guess::kRandom:
      case Guess::kNgram:
        break;
    }
  }
  if (GetParam() != Guess::kRight) return;
  const auto prompt_steps = static_cast<size_t>(std::count_if(
      shown.steps.begin(), shown.steps.end(), [](const auto& s) { return s.prompt; }));
  const size_t emitted = shown.ids.size() - 1;  // The first one comes with the prompt.
  EXPECT_EQ(shown.steps.size() - prompt_steps, (emitted + longest) / (longest + 1));
}

TEST_P(NumericDrafts, ShowWhatSerialDecodingShows) {
  SCOPED_TRACE(testing::Message() << "seed " << serially_->seed);
  std::mt19937 random(serially_->seed + 1);
  for (size_t kind = 0; kind < serially_->tasks.size(); ++kind) {
    Task task = serially_->tasks[kind];
    Shown serial = serially_->shown[kind];
    if (GetParam() == Guess::kEnd) {
      task.eos = {serial.ids[9 + random() % 9]};
      serial = ShowSerial(kTiny, task);
      EXPECT_EQ(serial.generation.stop, text::StopReason::kEos);
    }
    Ids truth = task.prompt;
    truth.insert(truth.end(), serial.ids.begin(), serial.ids.end());
    const auto engine = OpenDrafting(task.prompt.size() + task.n, random);
    ASSERT_NE(engine, nullptr);
    for (int run = 0; run < 2; ++run) {
      // Of a draft of two, the edge and the end would leave nothing right.
      const size_t least = GetParam() == Guess::kEdge || GetParam() == Guess::kEnd ? 3 : 1;
      const size_t longest = least + random() % (kDraftPositions - least);
      const size_t chunk = random() % 3 == 0 ? 0 : 1 + random() % kDraftChunk;
      SCOPED_TRACE(testing::Message() << "kind " << kind << ", prompt " << task.prompt.size()
                                      << ", chunk " << chunk << ", drafts of " << longest);
      text::Drafting drafting =
          DraftingOf(GetParam(), truth, task, longest, static_cast<unsigned>(random()));
      const Shown shown = Show(*engine, task, chunk, &drafting);
      ASSERT_NO_FATAL_FAILURE(ExpectSameShown(shown, serial));
      ExpectCounts(shown, longest);
      drafted_ += shown.generation.drafted;
      accepted_ += shown.generation.accepted;
    }
  }
  EXPECT_GT(drafted_, 0u);
  EXPECT_EQ(accepted_ == 0, GetParam() == Guess::kWrong);
}

INSTANTIATE_TEST_SUITE_P(Drafters, NumericDrafts,
                         testing::Values(Guess::kRight, Guess::kWrong, Guess::kRandom,
                                         Guess::kLastWrong, Guess::kNgram, Guess::kEdge,
                                         Guess::kEnd));

// A prompt behind a version that is given up, in many chunks: a chunk takes bases of its own.
TEST(NumericDraftsFrom, APromptInChunksFollowsAVersionThatIsGivenUp) {
  std::mt19937 random(3);
  Task task;
  task.n = 3;
  task.prompt = DrawText(random, 30, kDraftVocab);
  const Shown serial = ShowSerial(kTiny, task);
  const auto engine = OpenDrafting(40, random);
  const std::span<const text::TokenId> prompt(task.prompt);
  text::StateRef state = engine->EmptyState();
  for (const size_t at : {0, 4}) state = engine->Step(state, prompt.subspan(at, 4))->after.back();
  auto sampler = text::Sampler::Create({});
  text::GenerateOptions options;
  options.n = task.n;
  options.ignore_eos = true;
  options.prefill_chunk = 5;
  const auto run = text::Generate(*engine, prompt.subspan(8), *sampler, {}, options, {},
                                  {.state = std::move(state)});
  ASSERT_FALSE(run.error.has_value()) << run.error->message;
  EXPECT_EQ(run.ids, serial.ids);
  EXPECT_EQ(engine->Fold(run.state), serial.last_fold);
}

}  // namespace
}  // namespace penstock::k3
