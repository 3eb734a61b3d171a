#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/result.h"

namespace penstock::text {

using TokenId = uint32_t;

// What a sequence has become after its tokens so far. Immutable: a version stays readable as long
// as somebody holds it, so a draft is undone by dropping the references behind it. A model may
// bound how many versions can be held at once; a Step beyond that fails and changes nothing.
class State {
 public:
  virtual ~State() = default;
  virtual size_t position() const = 0;  // Tokens consumed.
};
using StateRef = std::shared_ptr<const State>;

// What of a step's result is used. A draft is verified at every position; of a prompt only the end
// matters.
enum class StepOutput {
  kAll,    // The state and the row of logits of every token.
  kLast,   // Those of the last token.
  kState,  // The state after the last token; its row, if any, is not looked at.
};

// after[i] is the state once tokens[0..i] are consumed; logits row i is what predicts the token
// that follows tokens[i]. Where less than StepOutput::kAll was wanted, entries may be missing at
// the front: after.back() is always the state after the last token and, but for kState, the last
// `vocab` floats of logits are its row.
struct StepResult {
  std::vector<StateRef> after;    // [T]
  std::span<const float> logits;  // [T, vocab], valid until the model's next Step
};

// The one interface between text and weights. Threads: one Step at a time; Cancel from anywhere.
class TextModel {
 public:
  virtual ~TextModel() = default;
  virtual size_t vocab_size() const = 0;
  virtual size_t max_context() const = 0;    // Positions a sequence may have.
  virtual size_t max_positions() const = 0;  // Tokens one Step may take,
  // and one of which less than kAll is wanted: a prompt is read in steps of as many.
  virtual size_t max_read_positions() const { return max_positions(); }
  virtual StateRef EmptyState() const = 0;
  virtual Result<StepResult> Step(const StateRef& before, std::span<const TokenId> tokens) = 0;
  // Says whether another Step is expected after the next one. A model that reads weights ahead of
  // the tokens stops at the end of the last expected step, so that a run which ends by its limits
  // reads no byte it does not use. True until told otherwise.
  virtual void ExpectMore(bool more) = 0;
  // Says what of the next Steps' results is used, so that the model need not make or keep the rest.
  // kAll until told otherwise. A model that makes everything always may ignore it.
  virtual void Want(StepOutput output) { (void)output; }
  // Makes a running Step, or the next one, return kCancelled soon.
  virtual void Cancel() = 0;
};

}  // namespace penstock::text
