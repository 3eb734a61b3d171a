#include "models/text/tokenizer.h"

#include <utility>

#include <fmt/format.h>

#include "models/text/encoding/byte_pair.h"
#include "models/text/encoding/utf8.h"

namespace penstock::text {

Result<Tokenizer> Tokenizer::Load(const std::string& directory, size_t vocab_size) {
  PENSTOCK_TRY(Vocabulary vocabulary, Vocabulary::Load(directory, vocab_size));
  return Create(std::move(vocabulary));
}

Result<Tokenizer> Tokenizer::Create(Vocabulary vocabulary) {
  PENSTOCK_TRY(PreSplitter splitter, PreSplitter::Create());
  return Tokenizer(std::move(vocabulary), std::move(splitter));
}

Result<std::vector<TokenId>> Tokenizer::Encode(std::string_view text) const {
  std::string replaced;
  if (!IsValidUtf8(text)) {
    replaced = ReplaceInvalidUtf8(text);
    text = replaced;
  }
  std::vector<TokenId> ids;
  BytePairMerger merger(vocabulary_);
  PENSTOCK_TRY_VOID(
      splitter_.Split(text, [&](std::string_view piece) { merger.Append(piece, ids); }));
  return ids;
}

Result<std::vector<TokenId>> Tokenizer::EncodeSegments(std::span<const Segment> segments) const {
  std::vector<TokenId> ids;
  for (const Segment& segment : segments) {
    if (segment.is_control) {
      const auto id = SpecialId(segment.text);
      if (!id) {
        return Refused(fmt::format("expected the spelling of a special id, got '{:.60}'",
                                   ReplaceInvalidUtf8(segment.text)));
      }
      ids.push_back(*id);
      continue;
    }
    PENSTOCK_TRY(const auto own, Encode(segment.text));
    ids.insert(ids.end(), own.begin(), own.end());
  }
  return ids;
}

std::string Tokenizer::Decode(std::span<const TokenId> ids) const {
  std::string bytes;
  for (const TokenId id : ids) bytes += Bytes(id);
  return ReplaceInvalidUtf8(bytes);
}

}  // namespace penstock::text
