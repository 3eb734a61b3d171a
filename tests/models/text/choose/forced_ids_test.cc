#include "models/text/choose/forced_ids.h"

#include <cmath>

#include "tests/models/text/history_model.h"
#include "tests/models/text/table_model.h"

namespace penstock::text {
namespace {

using Sequence = std::vector<TokenId>;
constexpr size_t kForcedVocab = 11;

Generation Force(TextModel& model, const Sequence& prompt, const Sequence& ids,
                 const GenerateOptions& options, const Sequence& eos = {},
                 Drafting* drafting = nullptr, const GenerateCallbacks& callbacks = {}) {
  ForcedIds chooser(ids, prompt.size());
  return Generate(model, prompt, chooser, eos, options, callbacks, {.drafting = drafting});
}

TEST(ForcedIds, AreEmittedAndScored) {
  // The table's favourite has logit 1 among zeros; the forced ids meet it now and then.
  const Sequence prompt = {1, 2}, ids = {3, 7, 0, 10, 5, 5, 5};
  Sequence all = prompt;
  all.insert(all.end(), ids.begin(), ids.end());
  TableModel model(kForcedVocab);
  double sum = 0;
  GenerateCallbacks callbacks;
  callbacks.on_token = [&](const TokenRecord& token) {
    const size_t before = token.position - 1;
    const bool favourite = TableModel::NextOf(all[before], before, kForcedVocab) == token.id;
    const double expected = (favourite ? 1 : 0) - std::log(std::exp(1.0) + 10);
    EXPECT_NEAR(*token.log_probability, expected, 1e-14);
    EXPECT_EQ(token.id, ids[token.index]);
    sum += expected;
    return true;
  };
  const Generation g = Force(model, prompt, ids, {.n = 100}, {}, nullptr, callbacks);
  EXPECT_EQ(g.ids, ids);
  EXPECT_EQ(g.stop, StopReason::kLength);
  EXPECT_EQ(g.positions, prompt.size() + ids.size() - 1);
  EXPECT_EQ(g.score.ids(), ids.size());
  EXPECT_NEAR(g.score.log_probability(), sum, 1e-13);
  EXPECT_NEAR(*g.score.perplexity(), std::exp(-sum / 7), 1e-12);
}

TEST(ForcedIds, EndWithNTheContextAnEndTokenOrTheList) {
  const Sequence prompt = {1, 2}, ids = {3, 7, 0, 10, 5};
  const auto run = [&](const GenerateOptions& options, const Sequence& eos = {}) {
    TableModel model(kForcedVocab);
    const Generation g = Force(model, prompt, ids, options, eos);
    EXPECT_EQ(g.score.ids(), g.ids.size());
    EXPECT_TRUE(std::equal(g.ids.begin(), g.ids.end(), ids.begin()));
    EXPECT_EQ(model.expected_more.back(), !eos.empty());
    return std::pair(g.ids.size(), g.stop);
  };
  EXPECT_EQ(run({.n = 3}), std::pair(size_t{3}, StopReason::kLength));
  EXPECT_EQ(run({.n = 5}), std::pair(size_t{5}, StopReason::kLength));
  EXPECT_EQ(run({.n = 9}), std::pair(size_t{5}, StopReason::kLength));
  EXPECT_EQ(run({.n = 9, .context = 4}), std::pair(size_t{3}, StopReason::kContext));
  EXPECT_EQ(run({.n = 9}, {0}), std::pair(size_t{3}, StopReason::kEos));
  TableModel model(kForcedVocab);
  const Generation none = Force(model, prompt, {}, {.n = 9});
  EXPECT_TRUE(none.ids.empty());
  EXPECT_FALSE(none.error);
  EXPECT_FALSE(none.score.perplexity());
  EXPECT_TRUE(model.steps.empty());
  EXPECT_EQ(Force(model, prompt, ids, {.n = 9, .ignore_eos = true}, {0}).ids, ids);
}

TEST(ForcedIds, AreRefusedOutsideTheVocabulary) {
  TableModel model(kForcedVocab);
  const Generation g = Force(model, {1}, {3, 11}, {.n = 1});
  ASSERT_TRUE(g.error);
  EXPECT_EQ(g.error->code, ErrorCode::kRefused);
  EXPECT_NE(g.error->message.find("forced token 1"), std::string::npos) << g.error->message;
  EXPECT_TRUE(model.steps.empty());
}

TEST(ForcedIds, AreScoredTheSameWhereARunGoesOn) {
  const Sequence prompt = {1, 2}, ids = {3, 7, 0, 10, 5, 5, 5};
  std::vector<double> scores;
  GenerateCallbacks callbacks;
  callbacks.on_token = [&](const TokenRecord& token) {
    scores.push_back(*token.log_probability);
    return true;
  };
  HistoryModel whole(kForcedVocab, 100, 4, 3), parts(kForcedVocab, 100, 4, 3);
  Force(whole, prompt, ids, {.n = 7}, {}, nullptr, callbacks);
  StateRef state = Force(parts, prompt, ids, {.n = 5}).state;  // Behind the fourth of the ids.
  parts.more_expected.clear();
  ForcedIds chooser(ids, prompt.size());
  const Generation rest =
      Generate(parts, Sequence{5}, chooser, {}, {.n = 2}, callbacks, {.state = std::move(state)});
  EXPECT_EQ(rest.ids, (Sequence{5, 5}));
  ASSERT_EQ(scores.size(), 9u);
  EXPECT_EQ(scores[7], scores[5]);
  EXPECT_EQ(scores[8], scores[6]);
}

TEST(ForcedIds, VerifyDraftsOfTheGivenText) {
  // A list read twice: after the first reading, drafts are right and each step takes many.
  Sequence ids;
  for (int reading = 0; reading < 2; ++reading) {
    for (TokenId i = 0; i < 40; ++i) ids.push_back((i * i + 3) % 97);
  }
  const Sequence prompt = {96};
  const auto run = [&](size_t most, Drafting* drafting) {
    HistoryModel model(97, 1000, most, 5);
    return Force(model, prompt, ids, {.n = 1000}, {}, drafting);
  };
  const Generation serial = run(1, nullptr);
  auto drafting = CreateDrafting({.draft_max = 7}, 8);
  const Generation drafted = run(8, &*drafting);
  EXPECT_EQ(drafted.ids, serial.ids);
  EXPECT_EQ(drafted.score.log_probability(), serial.score.log_probability());
  EXPECT_GT(drafted.accepted, 30u);
  EXPECT_EQ(serial.steps, 80u);
  EXPECT_EQ(drafted.steps, 80 - drafted.accepted);
}

}  // namespace
}  // namespace penstock::text
