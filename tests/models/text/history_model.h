#pragma once

#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "models/text/generate.h"

namespace penstock::text {

inline uint64_t MixHistory(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// A model whose logits are a hash of all that was consumed, so that no mistake in what a step sees
// stays without consequence. A few ids are much likelier than the others, or every sampled
// continuation would be noise. It gives no more than what was wanted, kills the rows of earlier
// steps, and counts what is asked of it.
class HistoryModel : public TextModel {
 public:
  struct HistoryState : State {
    HistoryState(uint64_t hash, size_t position) : history(hash), at(position) {}
    size_t position() const override { return at; }
    uint64_t history;
    size_t at;
  };

  HistoryModel(size_t vocab, size_t context, size_t most, uint64_t seed)
      : vocab_(vocab), context_(context), most_(most), seed_(seed) {}

  static uint64_t HistoryOf(const StateRef& state) {
    return dynamic_cast<const HistoryState&>(*state).history;
  }

  size_t vocab_size() const override { return vocab_; }
  size_t max_context() const override { return context_; }
  size_t max_positions() const override { return most_; }
  StateRef EmptyState() const override { return std::make_shared<HistoryState>(seed_, 0); }
  void ExpectMore(bool more) override { more_ = more; }
  void Want(StepOutput output) override { output_ = output; }
  void Cancel() override { cancelled_ = true; }

  Result<StepResult> Step(const StateRef& before, std::span<const TokenId> tokens) override {
    EXPECT_TRUE(more_expected.empty() || more_expected.back()) << "a step after the last one";
    EXPECT_FALSE(tokens.empty());
    EXPECT_LE(tokens.size(), most_);
    EXPECT_LE(before->position() + tokens.size(), context_);
    // Nobody else holds a version, but for the one the step starts from.
    for (const auto& version : versions_) {
      const auto held = version.lock();
      EXPECT_TRUE(!held || held == before) << "a version was not dropped";
    }
    versions_.clear();
    if (cancelled_) return penstock::Cancelled("cancelled");
    if (device_error_at == steps.size()) {
      ++failed_steps;
      return Failed("the device does not answer", EIO);
    }
    steps.push_back(tokens.size());
    more_expected.push_back(more_);
    outputs.push_back(output_);
    logits_ = std::vector<float>();
    StepResult result;
    uint64_t history = HistoryOf(before);
    for (size_t row = 0; row < tokens.size(); ++row) {
      EXPECT_LT(tokens[row], vocab_);
      history = MixHistory(history * 31 + tokens[row] + 1);
      const bool last = row + 1 == tokens.size();
      if (!last && output_ != StepOutput::kAll) continue;
      result.after.push_back(std::make_shared<HistoryState>(history, before->position() + row + 1));
      versions_.push_back(result.after.back());
      if (output_ != StepOutput::kState) AppendRow(history, before->position() + row);
    }
    result.logits = logits_;
    if (unsound_ || result.after.size() > most_versions) {
      steps.pop_back();
      more_expected.pop_back();
      outputs.pop_back();
      ++failed_steps;
      if (!unsound_) return Failed("no room for another version");
      unsound_ = false;
      return Unsound("a row is not finite");
    }
    return result;
  }

  std::vector<size_t> steps;        // Tokens of each.
  std::vector<bool> more_expected;  // What it had been told before each.
  std::vector<StepOutput> outputs;
  std::optional<size_t> poison_at;        // The position whose row gets a NaN.
  bool checks_rows = false;               // A step fails for such a row,
  size_t most_versions = 1000;            // or when it leaves more versions.
  std::optional<size_t> device_error_at;  // The step at which the device fails.
  size_t failed_steps = 0;

 private:
  void AppendRow(uint64_t history, size_t position) {
    const size_t begin = logits_.size();
    for (size_t id = 0; id < vocab_; ++id) {
      const uint64_t bits = MixHistory(history + id * 0x9E3779B97F4A7C15);
      logits_.push_back(static_cast<float>(bits >> 40) * 0x1p-22f + (bits % 7 == 0 ? 3.0f : 0.0f));
    }
    if (position != poison_at) return;
    logits_[begin + history % vocab_] = __builtin_nanf("");
    unsound_ = checks_rows;
  }

  size_t vocab_, context_, most_;
  uint64_t seed_;
  bool cancelled_ = false;
  bool unsound_ = false;
  bool more_ = true;
  StepOutput output_ = StepOutput::kAll;
  std::vector<float> logits_;
  std::vector<std::weak_ptr<const State>> versions_;
};

// Drafts what a function of the sequence so far says.
class ScriptedDrafter : public Drafter {
 public:
  using Script = std::function<std::vector<TokenId>(const std::vector<TokenId>&, size_t n)>;
  explicit ScriptedDrafter(Script script) : script_(std::move(script)) {}
  void Append(std::span<const TokenId> ids) override {
    sequence.insert(sequence.end(), ids.begin(), ids.end());
  }
  std::span<const TokenId> Draft(size_t n) override {
    draft_ = script_(sequence, n);
    return draft_;
  }
  std::vector<TokenId> sequence;

 private:
  Script script_;
  std::vector<TokenId> draft_;
};

// What a run shows to the outside, token by token.
struct Transcript {
  struct Token {
    TokenId id;
    size_t index, position;
    bool eos;
    std::vector<uint32_t> logits;  // Bits.
    std::optional<double> log_probability;
    size_t state_position;
    uint64_t history;
    bool operator==(const Token&) const = default;
  };
  std::vector<Token> tokens;
  std::vector<StepRecord> steps;
  Generation generation;
};

inline Transcript::Token Transcribe(const TokenRecord& token) {
  std::vector<uint32_t> bits(token.logits.size());
  std::memcpy(bits.data(), token.logits.data(), token.logits.size_bytes());
  return {token.id,
          token.index,
          token.position,
          token.eos,
          std::move(bits),
          token.log_probability,
          token.state->position(),
          HistoryModel::HistoryOf(token.state)};
}

// What must be the same, however the steps were cut.
inline void ExpectSame(const Transcript& a, const Transcript& b) {
  EXPECT_EQ(a.generation.ids, b.generation.ids);
  EXPECT_EQ(a.tokens, b.tokens);
  EXPECT_EQ(a.generation.stop, b.generation.stop);
  EXPECT_EQ(a.generation.positions, b.generation.positions);
  EXPECT_EQ(a.generation.score.ids(), b.generation.score.ids());
  EXPECT_EQ(a.generation.score.log_probability(), b.generation.score.log_probability());
  ASSERT_EQ(a.generation.error.has_value(), b.generation.error.has_value());
  if (a.generation.error) {
    EXPECT_EQ(a.generation.error->code, b.generation.error->code);
    EXPECT_EQ(a.generation.error->message, b.generation.error->message);
  }
  ASSERT_EQ(a.generation.state == nullptr, b.generation.state == nullptr);
  if (a.generation.state) {
    EXPECT_EQ(a.generation.state->position(), b.generation.state->position());
    EXPECT_EQ(HistoryModel::HistoryOf(a.generation.state),
              HistoryModel::HistoryOf(b.generation.state));
  }
}

}  // namespace penstock::text
