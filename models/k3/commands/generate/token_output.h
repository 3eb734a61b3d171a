#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/k3/commands/console.h"
#include "models/text/detokenizer.h"
#include "models/text/generate.h"
#include "runtime/options/options.h"

namespace penstock::k3 {

enum class OutputKind { kText, kIds, kJson };

// What --output asks for. Text without a tokenizer is refused; auto then takes ids.
Result<OutputKind> ChooseOutput(const std::string& output, bool has_tokenizer);

// Generated tokens to stdout, as they come: text, or ids on one line separated by commas. JSON is
// one object at the end. An end token that stops the run has an id but no text.
class TokenOutput {
 public:
  // Borrows both; `tokenizer` may be null (then there is no text).
  TokenOutput(OutputKind kind, Console& console, const text::Tokenizer* tokenizer);

  // Writes one token. `hide`: its text is not shown. The text it completed is then in text().
  Status Push(text::TokenId id, bool hide);
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
};

}  // namespace penstock::k3
