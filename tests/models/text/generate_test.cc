#include "models/text/generate.h"

#include <algorithm>

#include "runtime/options/options.h"
#include "tests/models/text/table_model.h"

namespace penstock::text {
namespace {

using Ids = std::vector<TokenId>;
constexpr size_t kTableVocab = 101;

// What the table says comes after `prompt`, n tokens.
Ids Continuation(Ids read, size_t n) {
  const size_t prompt = read.size();
  while (read.size() < prompt + n) {
    read.push_back(TableModel::NextOf(read.back(), read.size() - 1, kTableVocab));
  }
  return {read.begin() + static_cast<ptrdiff_t>(prompt), read.end()};
}

Generation Continue(TableModel& model, const Ids& prompt, const GenerateOptions& options,
                    const Ids& eos = {}, const GenerateCallbacks& callbacks = {},
                    const SamplerOptions& sampling = {}) {
  auto sampler = Sampler::Create(sampling);
  EXPECT_TRUE(sampler);
  return Generate(model, prompt, *sampler, eos, options, callbacks);
}

void ExpectRefused(TableModel& model, const Ids& prompt, const GenerateOptions& options,
                   const std::vector<std::string>& mentions) {
  const Generation g = Continue(model, prompt, options);
  ASSERT_TRUE(g.error);
  EXPECT_EQ(g.stop, StopReason::kError);
  EXPECT_EQ(g.error->code, ErrorCode::kRefused);
  for (const std::string& mention : mentions) {
    EXPECT_NE(g.error->message.find(mention), std::string::npos) << g.error->message;
  }
  EXPECT_TRUE(g.ids.empty());
  EXPECT_EQ(g.steps, 0u);
  EXPECT_TRUE(model.steps.empty());
}

TEST(Generate, ReadsThePromptInChunksAndNeverTheLastToken) {
  for (size_t most : {1, 2, 3, 4, 5, 6, 100}) {
    TableModel model(kTableVocab, 1000, most);
    const Ids prompt = {5, 6, 7, 8, 9};
    const Generation g = Continue(model, prompt, {.n = 4});
    const Ids expected = Continuation(prompt, 4);
    EXPECT_EQ(g.ids, expected);
    EXPECT_EQ(g.stop, StopReason::kLength);
    EXPECT_FALSE(g.error);
    EXPECT_EQ(g.positions, 5u + 4 - 1);
    EXPECT_EQ(g.steps, (5 + most - 1) / most + 3);
    EXPECT_EQ(g.steps, model.steps.size());
    EXPECT_EQ(g.state->position(), g.positions);
    Ids read;
    for (const Ids& step : model.steps) read.insert(read.end(), step.begin(), step.end());
    Ids all = prompt;
    all.insert(all.end(), expected.begin(), expected.end() - 1);
    EXPECT_EQ(read, all);
    EXPECT_EQ(model.steps.front().size(), std::min<size_t>(most, 5));
    std::vector<bool> more(g.steps, true);
    more.back() = false;
    EXPECT_EQ(model.expected_more, more);
  }
}

TEST(Generate, ReadsThePromptInChunksOfTheSizeAskedForOrOfAStep) {
  const Ids prompt = {5, 6, 7, 8, 9, 10, 11};
  for (size_t most : {1, 3, 7, 8}) {
    const std::optional<size_t> chunks[] = {std::nullopt, 1, 2, 3, 6, 7, 100};
    for (const std::optional<size_t>& chunk : chunks) {
      TableModel model(kTableVocab, 1000, most);
      const Generation g = Continue(model, prompt, {.n = 1, .prefill_chunk = chunk});
      const size_t size = std::min(chunk.value_or(most), most);
      EXPECT_EQ(g.steps, (7 + size - 1) / size);
      EXPECT_EQ(model.steps.front().size(), std::min<size_t>(size, 7));
      EXPECT_EQ(g.ids, Continuation(prompt, 1));
    }
  }
}

TEST(Generate, ReportsEveryStepAndTokenInOrder) {
  TableModel model(kTableVocab, 1000, 2);
  const Ids prompt = {1, 2, 3};
  const Ids expected = Continuation(prompt, 3);
  std::vector<StepRecord> steps;
  Ids emitted;
  GenerateCallbacks callbacks;
  callbacks.on_step = [&](const StepRecord& step) {
    // A token is reported before the step that consumes it.
    EXPECT_EQ(emitted.size(), step.prompt ? 0 : step.index - 1);
    steps.push_back(step);
  };
  callbacks.on_token = [&](const TokenRecord& token) {
    EXPECT_EQ(token.index, emitted.size());
    EXPECT_EQ(token.position, 3 + token.index);
    EXPECT_EQ(token.id, expected[token.index]);
    EXPECT_FALSE(token.eos);
    EXPECT_EQ(token.logits.size(), kTableVocab);
    EXPECT_EQ(token.logits[token.id], 1);
    EXPECT_EQ(std::count(token.logits.begin(), token.logits.end(), 0.0f), 100);
    emitted.push_back(token.id);
    return true;
  };
  const Generation g = Continue(model, prompt, {.n = 3}, {}, callbacks);
  EXPECT_EQ(g.ids, expected);
  EXPECT_EQ(emitted, expected);
  ASSERT_EQ(steps.size(), 4u);
  const size_t begins[] = {0, 2, 3, 4}, positions[] = {2, 1, 1, 1};
  for (size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(steps[i].index, i);
    EXPECT_EQ(steps[i].begin, begins[i]);
    EXPECT_EQ(steps[i].positions, positions[i]);
    EXPECT_EQ(steps[i].prompt, i < 2);
  }
}

TEST(Generate, StopsAtAnEndTokenUnlessItIsIgnored) {
  const Ids prompt = {3, 4};
  const Ids expected = Continuation(prompt, 10);
  for (const Ids& eos : {Ids{expected[4]}, Ids{9999, expected[4]}, Ids{expected[4], expected[7]}}) {
    std::vector<bool> marks;
    GenerateCallbacks callbacks;
    callbacks.on_token = [&](const TokenRecord& token) {
      marks.push_back(token.eos);
      return true;
    };
    TableModel model(kTableVocab);
    const Generation g = Continue(model, prompt, {.n = 10}, eos, callbacks);
    EXPECT_EQ(g.stop, StopReason::kEos);
    EXPECT_EQ(g.ids, Ids(expected.begin(), expected.begin() + 5));
    EXPECT_EQ(g.positions, 2u + 5 - 1);
    EXPECT_EQ(marks, (std::vector<bool>{false, false, false, false, true}));
    TableModel again(kTableVocab);
    marks.clear();
    const Generation on = Continue(again, prompt, {.n = 10, .ignore_eos = true}, eos, callbacks);
    EXPECT_EQ(on.stop, StopReason::kLength);
    EXPECT_EQ(on.ids, expected);
    EXPECT_TRUE(marks[4]);
  }
}

TEST(Generate, AnEndTokenInThePromptDoesNotStop) {
  TableModel model(kTableVocab);
  const Generation g = Continue(model, {3, 4}, {.n = 2}, {3, 4});
  EXPECT_EQ(g.ids, Continuation({3, 4}, 2));
}

TEST(Generate, StopsWhenTheContextIsFull) {
  const Ids prompt = {1, 2, 3};
  for (size_t context : {3, 4, 7}) {
    // Once by the option, once by the model: positions 0..context - 1 are consumed, and the token
    // behind them is still chosen.
    TableModel wide(kTableVocab), narrow(kTableVocab, context);
    for (const Generation& g : {Continue(wide, prompt, {.n = 50, .context = context}),
                                Continue(narrow, prompt, {.n = 50})}) {
      EXPECT_EQ(g.stop, StopReason::kContext);
      EXPECT_FALSE(g.error);
      EXPECT_EQ(g.ids, Continuation(prompt, context - 3 + 1));
      EXPECT_EQ(g.positions, context);
    }
    for (const TableModel* model : {&wide, &narrow}) {
      EXPECT_FALSE(model->expected_more.back());
      EXPECT_EQ(std::count(model->expected_more.begin(), model->expected_more.end(), false), 1);
    }
  }
  TableModel exact(kTableVocab, 7);
  EXPECT_EQ(Continue(exact, prompt, {.n = 5}).stop, StopReason::kLength);
}

TEST(Generate, RefusesWhatCannotWorkBeforeAnyStep) {
  TableModel model(kTableVocab, 10);
  ExpectRefused(model, {}, {.n = 1}, {"prompt"});
  ExpectRefused(model, {1, 2, 101}, {.n = 1}, {"101", "token 2"});
  ExpectRefused(model, {4294967295u}, {.n = 1}, {"4294967295"});
  ExpectRefused(model, Ids(11, 1), {.n = 1}, {"11", "10"});
  ExpectRefused(model, Ids(6, 1), {.n = 1, .context = 5}, {"6", "5"});
  ExpectRefused(model, {1}, {.n = 1, .context = 12}, {"12", "10"});
  ExpectRefused(model, {}, {.n = 0}, {"prompt"});
}

TEST(Generate, GeneratesNothingForNZero) {
  TableModel model(kTableVocab);
  const Generation g = Continue(model, {1}, {.n = 0});
  EXPECT_EQ(g.stop, StopReason::kLength);
  EXPECT_TRUE(g.ids.empty());
  EXPECT_TRUE(model.steps.empty());
  EXPECT_EQ(g.state, nullptr);
}

TEST(Generate, StopsWhenTheCallbackAsks) {
  TableModel model(kTableVocab);
  GenerateCallbacks callbacks;
  callbacks.on_token = [](const TokenRecord& token) { return token.index < 2; };
  const Generation g = Continue(model, {1, 2}, {.n = 10}, {}, callbacks);
  EXPECT_EQ(g.stop, StopReason::kRequested);
  EXPECT_FALSE(g.error);
  EXPECT_EQ(g.ids, Continuation({1, 2}, 3));
  EXPECT_EQ(model.steps.size(), 3u);
}

// Held, it would cost the memory of a version for the whole run.
TEST(Generate, LetsGoOfTheStateThatItStartsFrom) {
  TableModel model(kTableVocab);
  StateRef state = Continue(model, {1, 2}, {.n = 3}).state;
  const std::weak_ptr<const State> held = state;
  Sampler greedy = *Sampler::Create({});
  GenerateCallbacks callbacks;
  callbacks.on_token = [&](const TokenRecord&) { return held.expired(); };
  const Generation g =
      Generate(model, Ids{3}, greedy, {}, {.n = 4}, callbacks, {.state = std::move(state)});
  EXPECT_EQ(g.stop, StopReason::kLength) << "it is gone by the first token";
}

TEST(Generate, ACancelledStepEndsTheRunAndKeepsWhatWasThere) {
  TableModel model(kTableVocab);
  GenerateCallbacks callbacks;
  callbacks.on_token = [&](const TokenRecord& token) {
    if (token.index == 3) model.Cancel();
    return true;
  };
  const Generation g = Continue(model, {1, 2}, {.n = 10}, {}, callbacks);
  EXPECT_EQ(g.stop, StopReason::kError);
  EXPECT_EQ(g.error->code, ErrorCode::kCancelled);
  EXPECT_EQ(g.ids, Continuation({1, 2}, 4));
  EXPECT_EQ(g.state->position(), g.positions);
}

TEST(FaultGenerate, AFailedStepEndsTheRunAndKeepsWhatWasThere) {
  for (size_t fail_at = 0; fail_at < 6; ++fail_at) {
    TableModel model(kTableVocab, 1000, 2);
    model.fail_at = fail_at;
    Ids emitted;
    GenerateCallbacks callbacks;
    callbacks.on_token = [&](const TokenRecord& token) {
      emitted.push_back(token.id);
      return true;
    };
    const Generation g = Continue(model, {1, 2, 3}, {.n = 10}, {}, callbacks);
    EXPECT_EQ(g.stop, StopReason::kError);
    EXPECT_EQ(g.error->code, ErrorCode::kFailed);
    EXPECT_EQ(g.error->sys, 5);
    EXPECT_EQ(g.steps, fail_at);
    EXPECT_EQ(g.ids, Continuation({1, 2, 3}, fail_at < 2 ? 0 : fail_at - 1));
    EXPECT_EQ(emitted, g.ids);
  }
}

TEST(FaultGenerate, LogitsThatAreNotFiniteEndTheRunAndNameThePlace) {
  for (const double temp : {0.0, 0.8}) {
    TableModel model(kTableVocab, 1000, 2);
    model.poison_at = 4;
    const Generation g = Continue(model, {1, 2, 3}, {.n = 10}, {}, {}, {.temp = temp, .top_k = 1});
    EXPECT_EQ(g.stop, StopReason::kError);
    EXPECT_EQ(g.error->code, ErrorCode::kUnsound);
    EXPECT_EQ(g.error->where, "step 3, position 4");
    EXPECT_EQ(g.ids, Continuation({1, 2, 3}, 2));
  }
}

// The number drawn belongs to the position: neither the chunks of the prompt nor where the run was
// cut and taken up again can move a token.
TEST(Generate, SampledRunsDoNotDependOnChunksOrOnBeingResumed) {
  const SamplerOptions sampling{.temp = 2, .seed = 9};
  const Ids prompt = {1, 2, 3, 4, 5};
  TableModel model(kTableVocab, 1000, 1);
  const Ids whole = Continue(model, prompt, {.n = 30}, {}, {}, sampling).ids;
  EXPECT_NE(whole, Continuation(prompt, 30));
  for (size_t cut = 1; cut < 30; cut += 4) {
    Ids first = prompt;
    first.insert(first.end(), whole.begin(), whole.begin() + static_cast<ptrdiff_t>(cut));
    TableModel other(kTableVocab, 1000, cut);
    EXPECT_EQ(Continue(other, first, {.n = 30 - cut}, {}, {}, sampling).ids,
              Ids(whole.begin() + static_cast<ptrdiff_t>(cut), whole.end()));
  }
}

TEST(Generate, DeclaresItsOptions) {
  GenerateOptions options;
  OptionSet set;
  set.Add("generate", options);
  for (const char* name : {"n-predict", "n", "ctx-size", "c", "ignore-eos", "prefill-chunk"}) {
    EXPECT_NE(set.Find(name), nullptr) << name;
  }
  EXPECT_TRUE(set.Find("n")->assign("7"));
  EXPECT_TRUE(set.Find("c")->assign("0"));
  EXPECT_EQ(options.n, 7u);
  EXPECT_FALSE(set.Find("n")->assign("-1"));
  EXPECT_EQ(set.Find("prefill-chunk")->value(), "auto");
  EXPECT_TRUE(set.Find("prefill-chunk")->assign("5"));
  EXPECT_EQ(options.prefill_chunk, 5u);
}

TEST(Generate, NamesItsStopReasons) {
  EXPECT_EQ(StopReasonName(StopReason::kEos), "eos");
  EXPECT_EQ(StopReasonName(StopReason::kLength), "length");
  EXPECT_EQ(StopReasonName(StopReason::kContext), "context");
  EXPECT_EQ(StopReasonName(StopReason::kRequested), "requested");
  EXPECT_EQ(StopReasonName(StopReason::kError), "error");
}

}  // namespace
}  // namespace penstock::text
