#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/text/encoding/presplit.h"
#include "models/text/encoding/vocabulary.h"
#include "models/text/text_model.h"
#include "runtime/result.h"

namespace penstock::text {

// A stretch of a structured prompt. Each is encoded by itself: tokens never span two of them.
struct Segment {
  std::string_view text;
  bool is_control = false;  // `text` is the spelling of one special id, not message text.
};

// Text to token ids, in the format of the Kimi K3 release: `tiktoken.model` (byte pair ranks) and
// `tokenizer_config.json` (spellings of the 256 special ids behind them).
//
// Encoding: invalid UTF-8 becomes U+FFFD, as a decoder that replaces would have made it before any
// tokenizer of the release saw it; then the text is cut into slices and pieces (presplit.h) and
// each piece merged by rank (byte_pair.h). No id is added in front or behind. Message text never
// yields a special id, however it is spelled: specials come from SpecialId or control segments.
//
// Cost is near linear in the text, also for hostile text. Threads: const calls are re-entrant.
class Tokenizer {
 public:
  // Reads both files of `directory`. `vocab_size` is the model's: a tokenizer with more ids is
  // refused. kRefused for every defect of the files, with file, line, expected and got.
  static Result<Tokenizer> Load(const std::string& directory, size_t vocab_size);
  static Result<Tokenizer> Create(Vocabulary vocabulary);

  // Errors: kFailed when the expression engine runs out of memory; never for the text's sake.
  Result<std::vector<TokenId>> Encode(std::string_view text) const;
  // kRefused when a control segment is not the spelling of a special id.
  Result<std::vector<TokenId>> EncodeSegments(std::span<const Segment> segments) const;

  // The special id spelled `spelling`, for example "<|end_of_msg|>".
  std::optional<TokenId> SpecialId(std::string_view spelling) const {
    return vocabulary_.FindSpecial(spelling);
  }
  // The bytes of one id: of a rank as stored (possibly part of a character), of a special its
  // spelling.
  std::string Bytes(TokenId id) const { return vocabulary_.Bytes(id); }
  // All bytes of `ids` as one string, invalid UTF-8 replaced by U+FFFD.
  std::string Decode(std::span<const TokenId> ids) const;

  const Vocabulary& vocabulary() const { return vocabulary_; }

 private:
  Tokenizer(Vocabulary vocabulary, PreSplitter splitter)
      : vocabulary_(std::move(vocabulary)), splitter_(std::move(splitter)) {}

  Vocabulary vocabulary_;
  PreSplitter splitter_;
};

}  // namespace penstock::text
