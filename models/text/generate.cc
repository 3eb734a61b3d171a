#include "models/text/generate.h"

#include <algorithm>
#include <chrono>
#include <limits>
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

size_t MostIds(const GenerateOptions& options, const Chooser& chooser) {
  constexpr size_t kUnlessAsked = 128;
  const size_t most = chooser.most();
  if (options.n) return std::min(*options.n, most);
  return most == std::numeric_limits<size_t>::max() ? kUnlessAsked : most;
}

namespace {

// One call of Generate: what it works on and what it has so far.
class Run {
 public:
  Run(TextModel& model, Chooser& chooser, std::span<const TokenId> eos,
      const GenerateOptions& options, const GenerateCallbacks& callbacks, GenerateFrom from)
      : model_(model),
        chooser_(chooser),
        eos_(eos),
        options_(options),
        callbacks_(callbacks),
        drafting_(from.drafting),
        context_(options.context > 0 ? options.context : model.max_context()),
        most_ids_(MostIds(options, chooser)) {
    if (from.state) Adopt(std::move(from.state));
  }

  Generation Continue(std::span<const TokenId> prompt) {
    if (Status checked = Check(prompt); !checked) {
      Fail(std::move(checked).error());
    } else if (most_ids_ > 0) {
      if (drafting_ != nullptr) drafting_->drafter->Append(prompt);
      for (bool more = ReadPrompt(prompt); more;) more = Advance();
    }
    return std::move(generation_);
  }

 private:
  Status Check(std::span<const TokenId> prompt) const;
  bool ReadPrompt(std::span<const TokenId> prompt);
  bool Advance();
  void AppendDraft();
  struct StepKind {
    StepRecord record;  // What is known of it beforehand.
    StepOutput output = StepOutput::kAll;
    bool more = false;  // Another step is to follow, unless a token chosen ends the run.
  };
  bool Step(const StepKind& kind);
  Result<StepResult> Consume();
  void Verify();
  bool Take();
  void Adopt(StateRef state) {
    generation_.positions = state->position();
    generation_.state = std::move(state);
  }
  bool Emit(const Choice& choice, std::span<const float> logits);
  void Report();

  // Whether limits leave a further step after one that consumes `tokens` and chooses a token.
  bool GoesOnAfter(size_t tokens) const {
    return generation_.ids.size() + 1 < most_ids_ && generation_.positions + tokens < context_;
  }
  bool IsEnd(TokenId id) const { return std::find(eos_.begin(), eos_.end(), id) != eos_.end(); }
  bool EndsRun(TokenId id) const { return !options_.ignore_eos && IsEnd(id); }
  bool Stop(StopReason reason) {
    generation_.stop = reason;
    return false;
  }
  bool Fail(Error error) {
    generation_.error = std::move(error);
    return Stop(StopReason::kError);
  }

  TextModel& model_;
  Chooser& chooser_;
  std::span<const TokenId> eos_;
  const GenerateOptions& options_;
  const GenerateCallbacks& callbacks_;
  Drafting* drafting_;
  size_t context_;
  size_t most_ids_;
  Generation generation_;

  // Of the step at hand.
  std::vector<TokenId> fed_;      // What it consumes: certain tokens, then the draft.
  StepRecord record_;             // It has fed_.size() positions.
  std::vector<StateRef> after_;   // [1 + drafted], the first after the last certain token;
  std::span<const float> rows_;   // [1 + drafted, V] likewise.
  std::vector<Choice> choices_;   // What rows say as far as the draft is right.
  std::optional<Error> failure_;  // Why there is no choice behind those.
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
  const size_t before = generation_.positions;
  if (before > context_ || prompt.size() > context_ - before) {
    return Refused(fmt::format("expected a prompt of at most {} tokens, the context, got {}",
                               context_ - std::min(before, context_), prompt.size()));
  }
  return chooser_.Check(before + prompt.size(), vocab);
}

bool Run::ReadPrompt(std::span<const TokenId> prompt) {
  const size_t most = model_.max_read_positions();
  const size_t chunk = std::min(options_.prefill_chunk.value_or(most), most);
  PENSTOCK_CHECK(chunk > 0);
  if (!generation_.state) generation_.state = model_.EmptyState();
  for (; prompt.size() > chunk; prompt = prompt.subspan(chunk)) {
    fed_.assign(prompt.begin(), prompt.begin() + static_cast<ptrdiff_t>(chunk));
    if (!Step({{.prompt = true}, StepOutput::kState, true})) return false;
    Adopt(std::move(after_.back()));
    Report();
  }
  fed_.assign(prompt.begin(), prompt.end());
  return Step({{.prompt = true}, StepOutput::kLast, GoesOnAfter(prompt.size())}) && Take();
}

// Consumes the token chosen last, and guesses at those behind it.
bool Run::Advance() {
  fed_.assign(1, generation_.ids.back());
  AppendDraft();
  const size_t drafted = fed_.size() - 1;
  if (!Step({{.drafted = drafted}, StepOutput::kAll, GoesOnAfter(1)})) return false;
  return Take();
}

void Run::AppendDraft() {
  if (drafting_ == nullptr) return;
  // Each of fed_ has a position, and each may be followed by an id.
  const size_t most =
      std::min({model_.max_positions(), context_ - generation_.positions,
                most_ids_ - generation_.ids.size(), drafting_->economics.Length() + 1});
  if (most <= 1) return;
  for (const TokenId id : drafting_->drafter->Draft(most - 1)) {
    if (fed_.size() == most || id >= model_.vocab_size() || EndsRun(id)) break;
    fed_.push_back(id);
  }
}

Result<StepResult> Run::Consume() {
  const auto start = std::chrono::steady_clock::now();
  Result<StepResult> result = model_.Step(generation_.state, fed_);
  const auto elapsed = std::chrono::steady_clock::now() - start;
  record_.elapsed_ns +=
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count());
  return result;
}

// Whether a step may fail so for what was drafted: numbers that a wrong guess has led to, or no room
// for its versions. What a device says (with an errno) would be hidden by another try.
bool MayBeOfItsDraft(const Error& error) {
  return error.code != ErrorCode::kCancelled && error.sys == 0;
}

// Has the model consume fed_: without its draft where that fails.
bool Run::Step(const StepKind& kind) {
  record_ = kind.record;
  record_.index = generation_.steps;
  record_.begin = generation_.positions;
  record_.positions = fed_.size();
  model_.ExpectMore(kind.more);
  model_.Want(kind.output);
  Result<StepResult> result = Consume();
  if (!result && record_.drafted > 0 && MayBeOfItsDraft(result.error())) {
    fed_.resize(fed_.size() - record_.drafted);
    record_.positions = fed_.size();
    record_.withdrawn = std::exchange(record_.drafted, 0);
    result = Consume();
  }
  if (!result) return Fail(std::move(result).error());
  const size_t used = 1 + record_.drafted;
  const size_t rows = kind.output == StepOutput::kState ? 0 : used * model_.vocab_size();
  PENSTOCK_CHECK(result->after.size() >= used && result->after.size() <= fed_.size());
  PENSTOCK_CHECK(result->logits.size() >= rows);
  ++generation_.steps;
  after_ = std::move(result->after);
  after_.erase(after_.begin(), after_.end() - static_cast<ptrdiff_t>(used));
  rows_ = result->logits.last(rows);
  return true;
}

// Chooses from the rows in turn, as long as the draft has said what they choose.
void Run::Verify() {
  const std::span<const TokenId> draft = std::span(fed_).last(record_.drafted);
  const size_t vocab = model_.vocab_size();
  const size_t position = record_.begin + fed_.size() - draft.size();  // Of the first choice.
  choices_.clear();
  failure_.reset();
  for (size_t row = 0; row <= draft.size(); ++row) {
    if (row > 0 && choices_.back().id != draft[row - 1]) break;
    record_.accepted = row;
    Result<Choice> choice = chooser_.Choose(rows_.subspan(row * vocab, vocab), position + row);
    if (!choice) {
      failure_ = std::move(choice).error();
      failure_->where = fmt::format("step {}, position {}", record_.index, position + row - 1);
      break;
    }
    PENSTOCK_CHECK(choice->id < vocab);
    choices_.push_back(*choice);
  }
}

// Goes on with what the step's rows choose, and says whether there is another step.
bool Run::Take() {
  Verify();
  Report();
  const size_t vocab = model_.vocab_size();
  const size_t emitted = generation_.ids.size();
  bool more = true;
  for (size_t row = 0; row < choices_.size() && more; ++row) {
    Adopt(after_[row]);
    more = Emit(choices_[row], rows_.subspan(row * vocab, vocab));
  }
  if (more && failure_) {
    Adopt(after_[record_.accepted]);
    more = Fail(std::move(*failure_));
  }
  after_.clear();  // What was not accepted is dropped.
  if (drafting_ != nullptr) {
    drafting_->drafter->Append(std::span<const TokenId>(generation_.ids).subspan(emitted));
  }
  return more;
}

// Takes a token, and says whether to go on.
bool Run::Emit(const Choice& choice, std::span<const float> logits) {
  const size_t index = generation_.ids.size();
  const bool eos = IsEnd(choice.id);
  generation_.ids.push_back(choice.id);
  if (choice.log_probability) generation_.score.Add(*choice.log_probability);
  const bool wanted =
      !callbacks_.on_token || callbacks_.on_token({.id = choice.id,
                                                   .index = index,
                                                   .position = generation_.positions,
                                                   .eos = eos,
                                                   .logits = logits,
                                                   .log_probability = choice.log_probability,
                                                   .state = generation_.state});
  if (eos && !options_.ignore_eos) return Stop(StopReason::kEos);
  if (!wanted) return Stop(StopReason::kRequested);
  if (generation_.ids.size() >= most_ids_) return Stop(StopReason::kLength);
  if (generation_.positions >= context_) return Stop(StopReason::kContext);
  return true;
}

void Run::Report() {
  generation_.drafted += record_.drafted;
  generation_.accepted += record_.accepted;
  if (drafting_ != nullptr && !record_.prompt) {
    drafting_->economics.Record(record_.drafted + record_.withdrawn, record_.accepted,
                                record_.elapsed_ns);
  }
  if (callbacks_.on_step) callbacks_.on_step(record_);
}

}  // namespace

Generation Generate(TextModel& model, std::span<const TokenId> prompt, Chooser& chooser,
                    std::span<const TokenId> eos, const GenerateOptions& options,
                    const GenerateCallbacks& callbacks, GenerateFrom from) {
  return Run(model, chooser, eos, options, callbacks, std::move(from)).Continue(prompt);
}

Generation Generate(TextModel& model, std::span<const TokenId> prompt, Sampler& sampler,
                    std::span<const TokenId> eos, const GenerateOptions& options,
                    const GenerateCallbacks& callbacks, GenerateFrom from) {
  SampledIds chooser(sampler);
  return Generate(model, prompt, chooser, eos, options, callbacks, std::move(from));
}

}  // namespace penstock::text
