#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "models/text/sampler.h"
#include "models/text/text_model.h"
#include "runtime/result.h"

namespace penstock::text {

struct GenerateOptions {
  size_t n = 128;
  size_t context = 0;
  bool ignore_eos = false;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("n-predict,n", self.n, "tokens", size_t{0}, size_t{1} << 40, "Tokens to generate at most.");
    v("ctx-size,c", self.context, "positions", size_t{0}, size_t{1} << 40,
      "Positions a sequence may have; 0: prompt + n.");
    v("ignore-eos", self.ignore_eos, "Go on after an end token.");
  }
};

enum class StopReason {
  kEos,        // The model chose an end token (the last id of the result).
  kLength,     // n tokens were generated.
  kContext,    // The context has no position left for the last token.
  kRequested,  // on_token said stop.
  kError,      // Generation::error says why; what was generated before it stands.
};
std::string_view StopReasonName(StopReason reason);  // "eos", "length", "context", ...

// One call of TextModel::Step, reported when it has returned.
struct StepRecord {
  size_t index = 0;      // From 0.
  size_t begin = 0;      // Position of its first token.
  size_t positions = 0;  // Tokens it took.
  bool prompt = false;   // All of them came from the prompt.
  uint64_t elapsed_ns = 0;
};

struct TokenRecord {
  TokenId id = 0;
  size_t index = 0;               // Among the generated ones, from 0.
  size_t position = 0;            // In the sequence, from 0.
  bool eos = false;               // An end token, also where ignore_eos goes on.
  std::span<const float> logits;  // [V] the row that chose it; valid during the call.
};

struct GenerateCallbacks {
  std::function<void(const StepRecord&)> on_step;    // May be empty.
  std::function<bool(const TokenRecord&)> on_token;  // May be empty; false: stop after this token.
};

struct Generation {
  std::vector<TokenId> ids;  // The generated ones, an end token included.
  StopReason stop = StopReason::kLength;
  std::optional<Error> error;  // Set exactly when stop is kError.
  size_t steps = 0;            // Successful ones.
  size_t positions = 0;        // Consumed: prompt + ids.size() - 1 after a full run.
  StateRef state;              // After `positions` tokens; null when nothing was consumed.
};

// Continues `prompt` with `model`. The prompt is read in steps of at most max_positions() tokens;
// the last row of the last one chooses the first new token; each further token takes one step. The
// last token generated is not consumed: n tokens after a prompt of p take p + n - 1 positions.
//
// Before each step the model is told whether the limits leave another (TextModel::ExpectMore).
//
// Positions are bounded by options.context and by model.max_context(). Refused before any step:
// an empty prompt, an id outside the model's vocabulary, a prompt longer than the bound, a context
// the model does not have. n = 0 generates nothing and takes no step.
// Cancelling from another thread is model.Cancel(): the step's kCancelled ends the run.
//
// Threads: called by one; the callbacks run on it. Borrows everything for the call.
Generation Generate(TextModel& model, std::span<const TokenId> prompt, Sampler& sampler,
                    std::span<const TokenId> eos, const GenerateOptions& options,
                    const GenerateCallbacks& callbacks);

}  // namespace penstock::text
