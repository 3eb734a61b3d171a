#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "models/text/choose/chooser.h"
#include "models/text/choose/log_probability.h"
#include "models/text/draft/drafting.h"
#include "models/text/sampler.h"
#include "models/text/text_model.h"
#include "runtime/result.h"

namespace penstock::text {

struct GenerateOptions {
  std::optional<size_t> n =
      std::nullopt;  // None: all that the chooser can give, 128 if that is no number.
  size_t context = 0;
  bool ignore_eos = false;
  std::optional<size_t> prefill_chunk = std::nullopt;  // None: as many as a step takes.

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("n-predict,n", self.n, "tokens", size_t{0}, size_t{1} << 40, "Tokens to generate at most.");
    v("ctx-size,c", self.context, "positions", size_t{0}, size_t{1} << 40,
      "Positions a sequence may have; 0: prompt + n.");
    v("ignore-eos", self.ignore_eos, "Go on after an end token.");
    v("prefill-chunk", self.prefill_chunk, "positions", size_t{1}, size_t{1} << 40,
      "Positions of the prompt that one step reads at most; auto: as many as a step takes.");
  }
};

// How many ids a run with this chooser generates at most.
size_t MostIds(const GenerateOptions& options, const Chooser& chooser);

enum class StopReason {
  kEos,        // The model chose an end token (the last id of the result).
  kLength,     // n tokens were generated, or all that were forced.
  kContext,    // The context has no position left for the last token.
  kRequested,  // on_token said stop.
  kError,      // Generation::error says why; what was generated before it stands.
};
std::string_view StopReasonName(StopReason reason);  // "eos", "length", "context", ...

// One call of TextModel::Step, reported when it has returned and its draft has been verified, before
// the tokens that it chose.
struct StepRecord {
  size_t index = 0;      // From 0.
  size_t begin = 0;      // Position of its first token.
  size_t positions = 0;  // Tokens it took.
  bool prompt = false;   // All of them came from the prompt.
  size_t drafted = 0;    // The last ones of them, guessed,
  size_t accepted = 0;   // and of these the first ones, which were right.
  // Ids with which the model could not take the step; it was repeated without them.
  size_t withdrawn = 0;
  uint64_t elapsed_ns = 0;  // Of both tries.
};

struct TokenRecord {
  TokenId id = 0;
  size_t index = 0;                       // Among the generated ones, from 0.
  size_t position = 0;                    // In the sequence, from 0.
  bool eos = false;                       // An end token, also where ignore_eos goes on.
  std::span<const float> logits;          // [V] the row that chose it; valid during the call.
  std::optional<double> log_probability;  // Natural; of forced ids.
  // After the tokens before this one: what a run that goes on with this one as its prompt starts
  // from. Whoever keeps it holds one of the versions that the model bounds.
  StateRef state;
};

struct GenerateCallbacks {
  std::function<void(const StepRecord&)> on_step;    // May be empty.
  std::function<bool(const TokenRecord&)> on_token;  // May be empty; false: stop after this token.
};

// What a run has beside its prompt; all of it may be left out.
struct GenerateFrom {
  // Who guesses ahead. It is told of the prompt and of what is generated, and keeps what it learns.
  Drafting* drafting = nullptr;
  // The prompt follows the tokens that this has consumed: positions count from its first one. The
  // drafter, if any, has been told of them by the caller. Moved in, it is dropped when the first step
  // is done; who keeps it holds one of the versions that the model bounds.
  StateRef state = nullptr;
};

struct Generation {
  std::vector<TokenId> ids;  // The generated ones, an end token included.
  StopReason stop = StopReason::kLength;
  std::optional<Error> error;  // Set exactly when stop is kError.
  size_t steps = 0;            // Successful ones.
  size_t positions = 0;        // Consumed: prompt + ids.size() - 1 after a full run.
  StateRef state;              // After `positions` tokens; null when nothing was consumed.
  size_t drafted = 0;          // Of all steps: guessed ids that were consumed,
  size_t accepted = 0;         // and those that were right.
  Score score;                 // Of the ids that carry a log-probability.
};

// Continues `prompt` with `model`. The prompt is read in steps of at most options.prefill_chunk and
// max_read_positions() tokens; the last row of the last one chooses the first new token. The last token
// generated is not consumed: n tokens after a prompt of p take p + n - 1 positions.
//
// Each further step takes the token chosen last and a draft of d ids, as many as `drafting` asks
// for and as limits leave. Row i then chooses what follows the first i of them, with what belongs
// to its position; the draft is right as long as it says the same. The first row that disagrees
// decides the last token of the step, and the versions of the state behind it are dropped. So ids,
// rows, states, stop reasons and errors are those of a run without drafts, whatever is drafted; only
// the steps differ. A drafted id outside the vocabulary and an end token end a draft: neither is
// consumed. A step that fails, not for a device and not cancelled, is repeated without its draft.
//
// Before each step the model is told what of it is used (TextModel::Want), and whether another is
// expected (TextModel::ExpectMore): unless the limits say that this one is the last even if all of
// its draft is wrong.
//
// Positions are bounded by options.context and by model.max_context(). Refused before any step:
// an empty prompt, an id outside the model's vocabulary, a prompt longer than the bound, a context
// the model does not have, what `chooser` refuses. n = 0 generates nothing and takes no step.
// Cancelling from another thread is model.Cancel(): the step's kCancelled ends the run.
//
// Threads: called by one; the callbacks run on it. Borrows everything for the call.
Generation Generate(TextModel& model, std::span<const TokenId> prompt, Chooser& chooser,
                    std::span<const TokenId> eos, const GenerateOptions& options,
                    const GenerateCallbacks& callbacks, GenerateFrom from = {});

// The same with what a sampler chooses.
Generation Generate(TextModel& model, std::span<const TokenId> prompt, Sampler& sampler,
                    std::span<const TokenId> eos, const GenerateOptions& options,
                    const GenerateCallbacks& callbacks, GenerateFrom from = {});

}  // namespace penstock::text
