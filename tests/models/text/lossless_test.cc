#include <algorithm>
#include <cerrno>
#include <random>

#include "models/text/choose/forced_ids.h"
#include "models/text/generate.h"
#include "tests/models/text/history_model.h"

namespace penstock::text {
namespace {

using Sequence = std::vector<TokenId>;

// One way to run: everything that must not be seen in what comes out is in `most`, `chunk` and the
// drafting.
struct RunCase {
  uint64_t seed = 0;
  size_t vocab = 8, context = 0, model_context = 1000;
  Sequence prompt = {1, 2, 3};
  Sequence eos = {};
  GenerateOptions options = {};
  SamplerOptions sampling = {};
  std::optional<Sequence> forced = {};
  std::optional<size_t> stop_at = {};  // The token index at which on_token says stop.
  std::optional<size_t> poison_at = {};
  bool checks_rows = false;
  size_t most_versions = 1000;
};

Transcript Perform(const RunCase& run, size_t most, size_t chunk, Drafting* drafting) {
  HistoryModel model(run.vocab, run.model_context, most, run.seed);
  model.poison_at = run.poison_at;
  model.checks_rows = run.checks_rows;
  model.most_versions = run.most_versions;
  Transcript transcript;
  GenerateCallbacks callbacks;
  size_t emitted_of_steps = 0;
  callbacks.on_step = [&](const StepRecord& step) {
    EXPECT_EQ(step.index, transcript.steps.size());
    EXPECT_EQ(step.positions, model.steps.back());
    EXPECT_LE(step.accepted, step.drafted);
    EXPECT_LT(step.drafted, step.positions);
    EXPECT_TRUE(!step.prompt || step.drafted == 0);
    // Reported before its tokens, after those of the step before.
    EXPECT_EQ(transcript.tokens.size(), emitted_of_steps);
    const bool reads_on = step.begin + step.positions < run.prompt.size();
    if (!reads_on) emitted_of_steps += 1 + step.accepted;
    transcript.steps.push_back(step);
  };
  callbacks.on_token = [&](const TokenRecord& token) {
    transcript.tokens.push_back(Transcribe(token));
    return token.index != run.stop_at;
  };
  GenerateOptions options = run.options;
  if (chunk > 0) options.prefill_chunk = chunk;
  auto sampler = Sampler::Create(run.sampling);
  SampledIds sampled(*sampler);
  ForcedIds forced(run.forced.value_or(Sequence{}), run.prompt.size());
  Chooser& chooser = run.forced ? static_cast<Chooser&>(forced) : sampled;
  transcript.generation =
      Generate(model, run.prompt, chooser, run.eos, options, callbacks, {.drafting = drafting});
  EXPECT_EQ(transcript.generation.steps, model.steps.size());
  size_t drafted = 0, accepted = 0, withdrawn = 0;
  for (const StepRecord& step : transcript.steps) {
    drafted += step.drafted;
    withdrawn += step.withdrawn;
    accepted += step.accepted;
  }
  EXPECT_EQ(transcript.generation.drafted, drafted);
  EXPECT_EQ(transcript.generation.accepted, accepted);
  if (drafting != nullptr) {  // It is told of the steps that generate.
    const auto prompt_steps = std::count_if(transcript.steps.begin(), transcript.steps.end(),
                                            [](const StepRecord& step) { return step.prompt; });
    const DraftEconomics::Figures& figures = drafting->economics.figures();
    EXPECT_EQ(figures.steps, transcript.steps.size() - static_cast<size_t>(prompt_steps));
    EXPECT_EQ(figures.drafted, drafted + withdrawn);
    EXPECT_EQ(figures.accepted, accepted);
  }
  // Where nothing but limits ended the run, the model was told which step may be the last.
  const StopReason stop = transcript.generation.stop;
  if (drafting == nullptr && (stop == StopReason::kLength || stop == StopReason::kContext) &&
      !model.more_expected.empty()) {
    EXPECT_FALSE(model.more_expected.back());
  }
  return transcript;
}

// Where drafts are right: of the given one, the first `right` ids.
Drafting Scripted(ScriptedDrafter::Script script, size_t longest) {
  return {std::make_unique<ScriptedDrafter>(std::move(script)), DraftEconomics(longest, true)};
}

// The continuation that serial decoding gave, from where the sequence stands.
Sequence Ahead(const Sequence& truth, const Sequence& sequence, size_t n) {
  const size_t begin = std::min(sequence.size(), truth.size());
  return {truth.begin() + static_cast<ptrdiff_t>(begin),
          truth.begin() + static_cast<ptrdiff_t>(std::min(truth.size(), begin + n))};
}

enum class Aim { kRight, kWrong, kRandom, kLastWrong, kTooMuch, kNoSuchId };
constexpr Aim kAims[] = {Aim::kRight,     Aim::kWrong,   Aim::kRandom,
                         Aim::kLastWrong, Aim::kTooMuch, Aim::kNoSuchId};

ScriptedDrafter::Script Aimed(Aim aim, Sequence truth, size_t vocab, uint64_t seed) {
  auto random = std::make_shared<std::mt19937_64>(seed);
  return [=](const Sequence& sequence, size_t n) {
    Sequence draft = Ahead(truth, sequence, aim == Aim::kTooMuch ? n + 5 : n);
    const auto wrong = [&](TokenId& id) { id = static_cast<TokenId>((id + 1) % vocab); };
    if (aim == Aim::kWrong && !draft.empty()) wrong(draft.front());
    if (aim == Aim::kLastWrong && !draft.empty()) wrong(draft.back());
    if (aim == Aim::kNoSuchId && !draft.empty()) {
      draft[(*random)() % draft.size()] = static_cast<TokenId>(vocab);
    }
    if (aim == Aim::kRandom) {
      for (TokenId& id : draft) {
        if ((*random)() % 4 == 0) id = static_cast<TokenId>((*random)() % vocab);
      }
      draft.resize(draft.empty() ? 0 : (*random)() % (draft.size() + 1));
    }
    return draft;
  };
}

RunCase RandomCase(std::mt19937_64& random) {
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  RunCase run;
  run.seed = random();
  run.vocab = 2 + below(30);
  run.prompt.resize(1 + below(20));
  for (TokenId& id : run.prompt) id = static_cast<TokenId>(below(run.vocab));
  run.model_context = run.prompt.size() + below(60);
  if (below(2) == 0)
    run.options.context = run.prompt.size() + below(run.model_context - run.prompt.size() + 1);
  run.options.n = below(40);
  run.options.ignore_eos = below(4) == 0;
  for (size_t i = below(3); i > 0; --i) run.eos.push_back(static_cast<TokenId>(below(run.vocab)));
  if (below(2) == 0) {
    run.sampling = {.temp = 0.1 + static_cast<double>(below(20)) / 10, .seed = random()};
    if (below(2) == 0) run.sampling.top_k = 3;
  }
  if (below(4) == 0) {
    run.forced.emplace(below(40));
    for (TokenId& id : *run.forced) id = static_cast<TokenId>(below(run.vocab));
  }
  if (below(5) == 0) run.stop_at = below(20);
  if (below(5) == 0) run.poison_at = below(60);
  run.checks_rows = below(2) == 0;
  if (below(5) == 0) run.most_versions = 1 + below(4);
  return run;
}

class GenerateLossless : public ::testing::TestWithParam<Aim> {};

TEST_P(GenerateLossless, RunsAsOneTokenAtATimeWhateverIsDrafted) {
  size_t accepted = 0, rejected = 0, withdrawn = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const RunCase run = RandomCase(random);
    const Transcript serial = Perform(run, 1, 0, nullptr);
    // What would follow after the end of the run is drafted too.
    RunCase longer = run;
    longer.options = {.n = 80, .ignore_eos = true};
    longer.model_context = 1000;
    longer.stop_at.reset();
    longer.poison_at.reset();
    longer.forced.reset();
    Sequence truth = run.prompt;
    const Sequence& ids = run.forced ? *run.forced : Perform(longer, 1, 0, nullptr).generation.ids;
    truth.insert(truth.end(), ids.begin(), ids.end());
    for (int repetition = 0; repetition < 3; ++repetition) {
      const size_t most = 1 + random() % 9, chunk = random() % 11, longest = random() % 10;
      SCOPED_TRACE(::testing::Message()
                   << "most " << most << " chunk " << chunk << " drafts of " << longest);
      Drafting drafting = Scripted(Aimed(GetParam(), truth, run.vocab, seed), longest);
      const Transcript drafted = Perform(run, most, chunk, &drafting);
      ExpectSame(drafted, serial);
      accepted += drafted.generation.accepted;
      rejected += drafted.generation.drafted - drafted.generation.accepted;
      for (const StepRecord& step : drafted.steps) withdrawn += step.withdrawn;
      if ((GetParam() == Aim::kRight || GetParam() == Aim::kTooMuch) && !serial.generation.error) {
        EXPECT_EQ(drafted.generation.drafted, drafted.generation.accepted);
      }
      if (GetParam() == Aim::kWrong) {
        EXPECT_EQ(drafted.generation.accepted, 0u);
      }
      if (serial.generation.ids.size() > 1) {
        Sequence told = run.prompt;
        told.insert(told.end(), serial.generation.ids.begin(), serial.generation.ids.end());
        EXPECT_EQ(dynamic_cast<ScriptedDrafter&>(*drafting.drafter).sequence, told);
      }
    }
    if (HasFailure()) return;
  }
  const bool never_right = GetParam() == Aim::kWrong;
  EXPECT_EQ(accepted > 500, !never_right) << accepted;
  EXPECT_GT(withdrawn, 100u);
  const bool never_wrong =
      GetParam() == Aim::kRight || GetParam() == Aim::kTooMuch || GetParam() == Aim::kNoSuchId;
  EXPECT_EQ(rejected > 200, !never_wrong) << rejected;
}

INSTANTIATE_TEST_SUITE_P(Drafters, GenerateLossless, ::testing::ValuesIn(kAims));

TEST(GenerateDrafts, TakesAsFewStepsAsTheDraftsAllow) {
  // Three of the prompt in chunks of two, then 16 ids of which the first comes with the prompt.
  const RunCase run{.seed = 4, .options = {.n = 16}};
  const Transcript serial = Perform(run, 1, 0, nullptr);
  Sequence truth = run.prompt;
  truth.insert(truth.end(), serial.generation.ids.begin(), serial.generation.ids.end());
  Drafting drafting = Scripted(Aimed(Aim::kRight, truth, run.vocab, 1), 3);
  const Transcript drafted = Perform(run, 8, 2, &drafting);
  std::vector<size_t> positions, accepted;
  for (const StepRecord& step : drafted.steps) {
    positions.push_back(step.positions);
    accepted.push_back(step.accepted);
  }
  // 1 + 4 + 4 + 4 are 13 ids; three more are wanted, the last of which needs no position.
  EXPECT_EQ(positions, (std::vector<size_t>{2, 1, 4, 4, 4, 3}));
  EXPECT_EQ(accepted, (std::vector<size_t>{0, 0, 3, 3, 3, 2}));
  EXPECT_EQ(drafted.steps.back().begin + drafted.steps.back().positions,
            drafted.generation.positions);
}

TEST(GenerateDrafts, DoesNotTryAgainWhatADeviceRefuses) {
  HistoryModel model(8, 100, 4, 1);
  model.device_error_at = 2;
  auto sampler = Sampler::Create({});
  Drafting drafting = Scripted([](const Sequence&, size_t n) { return Sequence(n, 1); }, 2);
  const Generation g =
      Generate(model, Sequence{2}, *sampler, {}, {.n = 9}, {}, {.drafting = &drafting});
  ASSERT_TRUE(g.error);
  EXPECT_EQ(g.error->sys, EIO);
  EXPECT_EQ(model.steps.size(), 2u);
  EXPECT_EQ(model.failed_steps, 1u);
}

TEST(GenerateDrafts, AsksForWhatItUses) {
  HistoryModel model(8, 100, 4, 1);
  auto sampler = Sampler::Create({});
  Drafting drafting = Scripted([](const Sequence&, size_t n) { return Sequence(n, 1); }, 2);
  Generate(model, Sequence(10, 2), *sampler, {}, {.n = 3}, {}, {.drafting = &drafting});
  ASSERT_GE(model.outputs.size(), 4u);
  EXPECT_EQ(model.outputs[0], StepOutput::kState);
  EXPECT_EQ(model.outputs[1], StepOutput::kState);
  EXPECT_EQ(model.outputs[2], StepOutput::kLast);
  EXPECT_EQ(model.outputs[3], StepOutput::kAll);
  EXPECT_EQ(std::vector<size_t>(model.steps.begin(), model.steps.begin() + 4),
            (std::vector<size_t>{4, 4, 2, 2}));
}

TEST(GenerateDrafts, ExpectsMoreUnlessEvenAWrongDraftLeavesNothingToDo) {
  // Always wrong: one id a step, each of which could have been the last one but was not.
  const RunCase run{.seed = 4, .options = {.n = 6}};
  Sequence truth = run.prompt;
  const Sequence ids = Perform(run, 1, 0, nullptr).generation.ids;
  truth.insert(truth.end(), ids.begin(), ids.end());
  for (const Aim aim : {Aim::kWrong, Aim::kRight}) {
    HistoryModel model(run.vocab, 1000, 9, run.seed);
    auto sampler = Sampler::Create({});
    Drafting drafting = Scripted(Aimed(aim, truth, run.vocab, 1), 8);
    EXPECT_EQ(
        Generate(model, run.prompt, *sampler, {}, run.options, {}, {.drafting = &drafting}).ids,
        ids);
    if (aim == Aim::kWrong) {
      EXPECT_EQ(model.more_expected, (std::vector<bool>{true, true, true, true, true, false}));
      EXPECT_EQ(model.steps, (std::vector<size_t>{3, 5, 4, 3, 2, 1}));
    } else {
      EXPECT_EQ(model.more_expected, (std::vector<bool>{true, true}));
      EXPECT_EQ(model.steps, (std::vector<size_t>{3, 5}));
    }
  }
}

TEST(GenerateDrafts, AnEndTokenIsNeverConsumedAndNothingBehindItIsEmitted) {
  const RunCase run{.seed = 9, .vocab = 30, .options = {.n = 30}};
  const Sequence ids = Perform(run, 1, 0, nullptr).generation.ids;
  Sequence truth = run.prompt;
  truth.insert(truth.end(), ids.begin(), ids.end());
  for (size_t end = 0; end < 12; ++end) {
    RunCase stopping = run;
    stopping.eos = {ids[end]};
    const size_t first = std::find(ids.begin(), ids.end(), ids[end]) - ids.begin();
    Drafting drafting = Scripted(Aimed(Aim::kRight, truth, run.vocab, 1), 7);
    const Transcript drafted = Perform(stopping, 8, 0, &drafting);
    EXPECT_EQ(drafted.generation.stop, StopReason::kEos);
    EXPECT_EQ(drafted.generation.ids.size(), first + 1);
    EXPECT_EQ(drafted.generation.positions, run.prompt.size() + first);
    EXPECT_EQ(drafted.steps.back().begin + drafted.steps.back().positions,
              drafted.generation.positions);
    stopping.options.ignore_eos = true;
    Drafting again = Scripted(Aimed(Aim::kRight, truth, run.vocab, 1), 7);
    EXPECT_EQ(Perform(stopping, 8, 0, &again).generation.ids, ids);
  }
}

// Every token's state is one from which the run goes on as if it had not been cut.
TEST(GenerateDrafts, GoesOnFromTheStateOfAnyToken) {
  const RunCase run{
      .seed = 5, .vocab = 20, .options = {.n = 25}, .sampling = {.temp = 1, .seed = 3}};
  const Transcript serial = Perform(run, 1, 0, nullptr);
  const Sequence& ids = serial.generation.ids;
  Sequence truth = run.prompt;
  truth.insert(truth.end(), ids.begin(), ids.end());
  for (size_t cut = 0; cut + 1 < ids.size(); cut += 5) {
    HistoryModel model(run.vocab, 1000, 6, run.seed);
    auto sampler = Sampler::Create(run.sampling);
    Drafting drafting = Scripted(Aimed(Aim::kRandom, truth, run.vocab, cut), 5);
    StateRef state;
    GenerateCallbacks callbacks;
    callbacks.on_token = [&](const TokenRecord& token) {
      if (token.index == cut) state = token.state;
      return token.index < cut;
    };
    Generate(model, run.prompt, *sampler, {}, run.options, callbacks, {.drafting = &drafting});
    ASSERT_TRUE(state);
    EXPECT_EQ(state->position(), run.prompt.size() + cut);
    HistoryModel other(run.vocab, 1000, 6, run.seed);
    const Generation rest = Generate(other, std::span(&ids[cut], 1), *sampler, {},
                                     {.n = ids.size() - cut - 1}, {}, {.state = state});
    EXPECT_EQ(rest.ids, Sequence(ids.begin() + static_cast<ptrdiff_t>(cut) + 1, ids.end()));
    EXPECT_EQ(rest.positions, serial.generation.positions);
    EXPECT_EQ(HistoryModel::HistoryOf(rest.state),
              HistoryModel::HistoryOf(serial.generation.state));
  }
}

TEST(FaultGenerateDrafts, ACancelledStepKeepsWhatItsDraftWasToFollow) {
  const RunCase run{.seed = 6, .vocab = 20, .options = {.n = 25}};
  const Transcript serial = Perform(run, 1, 0, nullptr);
  const Sequence& ids = serial.generation.ids;
  Sequence truth = run.prompt;
  truth.insert(truth.end(), ids.begin(), ids.end());
  for (size_t at = 0; at + 1 < ids.size(); ++at) {
    HistoryModel model(run.vocab, 1000, 6, run.seed);
    auto sampler = Sampler::Create({});
    Drafting drafting = Scripted(Aimed(Aim::kRandom, truth, run.vocab, at), 5);
    GenerateCallbacks callbacks;
    callbacks.on_token = [&](const TokenRecord& token) {
      if (token.index == at) model.Cancel();
      return true;
    };
    const Generation g =
        Generate(model, run.prompt, *sampler, {}, run.options, callbacks, {.drafting = &drafting});
    // The step that brought the token brought those behind it too.
    ASSERT_GT(g.ids.size(), at);
    EXPECT_TRUE(std::equal(g.ids.begin(), g.ids.end(), ids.begin()));
    if (g.ids.size() == ids.size()) continue;
    ASSERT_TRUE(g.error);
    EXPECT_EQ(g.error->code, ErrorCode::kCancelled);
    EXPECT_EQ(g.positions, run.prompt.size() + g.ids.size() - 1);
    EXPECT_EQ(g.state->position(), g.positions);
    EXPECT_EQ(HistoryModel::HistoryOf(g.state), serial.tokens[g.ids.size() - 1].history);
  }
}

TEST(GenerateDrafts, CountsTheContextFromTheFirstTokenOfTheState) {
  HistoryModel model(8, 10, 4, 1);
  auto sampler = Sampler::Create({});
  const Generation first = Generate(model, Sequence(6, 1), *sampler, {}, {.n = 1}, {});
  HistoryModel other(8, 10, 4, 1);
  const Generation full =
      Generate(other, Sequence(5, 1), *sampler, {}, {.n = 1}, {}, {.state = first.state});
  ASSERT_TRUE(full.error);
  EXPECT_EQ(full.error->code, ErrorCode::kRefused);
  EXPECT_EQ(full.positions, 6u);
  EXPECT_EQ(full.state, first.state);
  EXPECT_TRUE(other.steps.empty());
  const Generation rest =
      Generate(other, Sequence(2, 1), *sampler, {}, {.n = 50}, {}, {.state = first.state});
  EXPECT_EQ(rest.stop, StopReason::kContext);
  EXPECT_EQ(rest.positions, 10u);
  EXPECT_EQ(rest.ids.size(), 3u);
}

}  // namespace
}  // namespace penstock::text
