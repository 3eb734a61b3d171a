#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/k3/commands/console.h"
#include "models/text/detokenizer.h"
#include "models/text/generate.h"
#include "runtime/options/options.h"

namespace penstock::k3 {

enum class OutputKind { kText, kIds, kJson, kScores };

// What --output asks for. Text without a tokenizer is refused. auto: scores of a run whose ids are
// `forced`, else text, or ids without a tokenizer. Scores of other runs are refused.
Result<OutputKind> ChooseOutput(const std::string& output, bool has_tokenizer, bool forced);

// Generated tokens to stdout, as they come: text, or ids on one line separated by commas. Scores
// are CSV, a line for each token: its position, its id and its natural log-probability (which every
// token of such a run has), in digits that read back to the same double. JSON is one object at the
// end. An end token that stops the run has an id but no text.
class TokenOutput {
 public:
  // Borrows both; `tokenizer` may be null (then there is no text).
  TokenOutput(OutputKind kind, Console& console, const text::Tokenizer* tokenizer);

  // Writes one token. `hide`: its text is not shown. The text it completed is then in text().
  Status Push(const text::TokenRecord& token, bool hide);
  const std::string& text() const { return text_; }

  // Ends the output: what of a character is still held back, the end of the line, the object with
  // `facts` in front.
  Status Finish(const Json& facts);

 private:
  Status WriteObject(const Json& facts);

  OutputKind kind_;
  Console* console_;
  std::optional<text::Detokenizer> detokenizer_;
  std::string text_;
  std::string all_text_;  // For JSON.
  std::vector<text::TokenId> ids_;
  std::vector<double> log_probabilities_;  // Of forced ids.
};

}  // namespace penstock::k3
