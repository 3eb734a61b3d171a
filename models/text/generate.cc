#include "models/text/generate.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "runtime/check.h"

namespace penstock::text {

std::string_view StopReasonName(StopReason reason) {
  switch (reason) {
    case StopReason::kEos:
      return "eos";
    case StopReason::kLength:
      return "length";
    case StopReason::kContext:
      return "context";
    case StopReason::kRequested:
      return "requested";
    case StopReason::kError:
      return "error";
  }
  return "unknown";
}

namespace {

// One call of Generate: what it works on and what it has so far.
class Run {
 public:
  Run(TextModel& model, Sampler& sampler, std::span<const TokenId> eos,
      const GenerateOptions& options, const GenerateCallbacks& callbacks)
      : model_(model), sampler_(sampler), eos_(eos), options_(options), callbacks_(callbacks) {}

  Generation Continue(std::span<const TokenId> prompt) {
    if (Status checked = Check(prompt); !checked) {
      Fail(std::move(checked).error());
    } else if (options_.n > 0) {
      context_ = options_.context > 0 ? options_.context : model_.max_context();
      for (bool more = ReadPrompt(prompt); more;) more = Choose() && Advance();
    }
    return std::move(generation_);
  }

 private:
  Status Check(std::span<const TokenId> prompt) const;
  bool ReadPrompt(std::span<const TokenId> prompt);
  struct StepKind {
    bool prompt = false;
    bool more = false;  // Another step is to follow, unless the token chosen ends the run.
  };
  bool Step(std::span<const TokenId> tokens, StepKind kind);
  // Whether limits leave a further step after one that takes `tokens` and chooses a token.
  bool GoesOnAfter(size_t tokens) const {
    return generation_.ids.size() + 1 < options_.n && generation_.positions + tokens < context_;
  }
  bool Choose();
  bool Advance();
  bool Stop(StopReason reason) {
    generation_.stop = reason;
    return false;
  }
  bool Fail(Error error) {
    generation_.error = std::move(error);
    return Stop(StopReason::kError);
  }

  TextModel& model_;
  Sampler& sampler_;
  std::span<const TokenId> eos_;
  const GenerateOptions& options_;
  const GenerateCallbacks& callbacks_;
  size_t context_ = 0;
  std::span<const float> logits_;  // The row behind the last token consumed.
  Generation generation_;
};

Status Run::Check(std::span<const TokenId> prompt) const {
  if (prompt.empty()) return Refused("expected a prompt of at least one token, got none");
  const size_t vocab = model_.vocab_size();
  for (size_t i = 0; i < prompt.size(); ++i) {
    if (prompt[i] >= vocab) {
      return Refused(
          fmt::format("prompt token {}: expected an id below {}, got {}", i, vocab, prompt[i]));
    }
  }
  if (options_.context > model_.max_context()) {
    return Refused(fmt::format("expected a context of at most the model's {} positions, got {}",
                               model_.max_context(), options_.context));
  }
  const size_t bound = options_.context > 0 ? options_.context : model_.max_context();
  if (prompt.size() > bound) {
    return Refused(fmt::format("expected a prompt of at most {} tokens, the context, got {}", bound,
                               prompt.size()));
  }
  return {};
}

bool Run::ReadPrompt(std::span<const TokenId> prompt) {
  const size_t most = model_.max_positions();
  PENSTOCK_CHECK(most > 0);
  for (; prompt.size() > most; prompt = prompt.subspan(most)) {
    if (!Step(prompt.first(most), {.prompt = true, .more = true})) return false;
  }
  return Step(prompt, {.prompt = true, .more = GoesOnAfter(prompt.size())});
}

bool Run::Step(std::span<const TokenId> tokens, StepKind kind) {
  if (!generation_.state) generation_.state = model_.EmptyState();
  StepRecord record{generation_.steps, generation_.positions, tokens.size(), kind.prompt, 0};
  model_.ExpectMore(kind.more);
  const auto start = std::chrono::steady_clock::now();
  Result<StepResult> result = model_.Step(generation_.state, tokens);
  if (!result) return Fail(std::move(result).error());
  const auto elapsed = std::chrono::steady_clock::now() - start;
  record.elapsed_ns =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count());
  const size_t vocab = model_.vocab_size();
  PENSTOCK_CHECK(result->after.size() == tokens.size());
  PENSTOCK_CHECK(result->logits.size() == tokens.size() * vocab);
  generation_.state = std::move(result->after.back());
  logits_ = result->logits.last(vocab);
  ++generation_.steps;
  generation_.positions += tokens.size();
  if (callbacks_.on_step) callbacks_.on_step(record);
  return true;
}

// Takes the next token from logits_, reports it, and says whether to go on.
bool Run::Choose() {
  const size_t position = generation_.positions;
  Result<TokenId> id = sampler_.Sample(logits_, position);
  if (!id) {
    Error error = std::move(id).error();
    error.where = fmt::format("step {}, position {}", generation_.steps - 1, position - 1);
    return Fail(std::move(error));
  }
  const bool eos = std::find(eos_.begin(), eos_.end(), *id) != eos_.end();
  const TokenRecord record{*id, generation_.ids.size(), position, eos, logits_};
  generation_.ids.push_back(*id);
  const bool wanted = !callbacks_.on_token || callbacks_.on_token(record);
  if (eos && !options_.ignore_eos) return Stop(StopReason::kEos);
  if (!wanted) return Stop(StopReason::kRequested);
  if (generation_.ids.size() >= options_.n) return Stop(StopReason::kLength);
  if (generation_.positions >= context_) return Stop(StopReason::kContext);
  return true;
}

// Consumes the token chosen last.
bool Run::Advance() {
  const TokenId last = generation_.ids.back();
  return Step({&last, 1}, {.prompt = false, .more = GoesOnAfter(1)});
}

}  // namespace

Generation Generate(TextModel& model, std::span<const TokenId> prompt, Sampler& sampler,
                    std::span<const TokenId> eos, const GenerateOptions& options,
                    const GenerateCallbacks& callbacks) {
  return Run(model, sampler, eos, options, callbacks).Continue(prompt);
}

}  // namespace penstock::text
