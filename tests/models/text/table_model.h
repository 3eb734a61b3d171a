#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "models/text/text_model.h"

namespace penstock::text {

// A model that is a table: the token after `t` at `position` is Next(t, position), by one logit of
// 1 among zeros. It records what it was asked, and fails or misbehaves where told.
class TableModel : public TextModel {
 public:
  explicit TableModel(size_t vocab, size_t context = 1000, size_t most = 4)
      : vocab_(vocab), context_(context), most_(most) {}

  static TokenId NextOf(TokenId token, size_t position, size_t vocab) {
    return static_cast<TokenId>((token * 7 + position * 3 + 1) % vocab);
  }

  size_t vocab_size() const override { return vocab_; }
  size_t max_context() const override { return context_; }
  size_t max_positions() const override { return most_; }
  StateRef EmptyState() const override { return std::make_shared<TableState>(); }
  void ExpectMore(bool more) override { more_ = more; }
  void Cancel() override { cancelled_ = true; }

  Result<StepResult> Step(const StateRef& before, std::span<const TokenId> tokens) override {
    const auto& state = dynamic_cast<const TableState&>(*before);
    EXPECT_FALSE(tokens.empty());
    EXPECT_LE(tokens.size(), most_);
    EXPECT_LE(state.tokens.size() + tokens.size(), context_);
    if (cancelled_) return penstock::Cancelled("cancelled");
    if (fail_at && steps.size() == *fail_at) return Failed("the device is gone", 5);
    steps.emplace_back(tokens.begin(), tokens.end());
    expected_more.push_back(more_);
    StepResult result;
    // The rows of the step before die here, as the interface says they may.
    logits_ = std::vector<float>(tokens.size() * vocab_, 0);
    std::vector<TokenId> read = state.tokens;
    for (size_t row = 0; row < tokens.size(); ++row) {
      EXPECT_LT(tokens[row], vocab_);
      const size_t position = read.size();
      read.push_back(tokens[row]);
      logits_[row * vocab_ + NextOf(tokens[row], position, vocab_)] = 1;
      if (position == poison_at) logits_[row * vocab_] = __builtin_nanf("");
      result.after.push_back(std::make_shared<TableState>(read));
    }
    result.logits = logits_;
    return result;
  }

  struct TableState : State {
    TableState() = default;
    explicit TableState(std::vector<TokenId> t) : tokens(std::move(t)) {}
    size_t position() const override { return tokens.size(); }
    std::vector<TokenId> tokens;
  };

  std::vector<std::vector<TokenId>> steps;  // Tokens of every step that succeeded.
  std::vector<bool> expected_more;          // What ExpectMore had said before each.
  std::optional<size_t> fail_at;            // The step that fails.
  std::optional<size_t> poison_at;          // The position whose row gets a NaN.

 private:
  size_t vocab_, context_, most_;
  bool cancelled_ = false;
  bool more_ = true;
  std::vector<float> logits_;
};

}  // namespace penstock::text
