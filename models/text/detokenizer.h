#pragma once

#include <string>

#include "models/text/text_model.h"
#include "models/text/tokenizer.h"

namespace penstock::text {

// Ids to text, one at a time. A token may end inside a UTF-8 character: its last bytes are held
// back (never more than three) until a later token completes it or shows that it cannot be one,
// when they come out as U+FFFD. The outputs of Push and Finish, joined, are Tokenizer::Decode of
// the ids: valid UTF-8 always. Special ids come out as their spelling.
//
// Borrows the tokenizer. Threads: one at a time.
class Detokenizer {
 public:
  explicit Detokenizer(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

  // The text that `id` completes; may be empty.
  std::string Push(TokenId id);
  // U+FFFD for what is still held back, else nothing. The next Push starts a new text.
  std::string Finish();

 private:
  const Tokenizer* tokenizer_;
  std::string held_;  // A beginning of one character, or empty.
};

}  // namespace penstock::text
