#include "models/text/detokenizer.h"

#include <string_view>
#include <utility>

#include "models/text/encoding/utf8.h"

namespace penstock::text {

std::string Detokenizer::Push(TokenId id) {
  const std::string bytes = std::exchange(held_, {}) + tokenizer_->Bytes(id);
  std::string complete;
  for (std::string_view rest = bytes; !rest.empty();) {
    const Utf8Char front = DecodeUtf8(rest);
    if (front.kind == Utf8Char::Kind::kIncomplete) {
      held_ = rest;
      break;
    }
    complete +=
        front.kind == Utf8Char::Kind::kValid ? rest.substr(0, front.bytes) : kReplacementUtf8;
    rest.remove_prefix(front.bytes);
  }
  return complete;
}

std::string Detokenizer::Finish() {
  return std::exchange(held_, {}).empty() ? std::string() : std::string(kReplacementUtf8);
}

}  // namespace penstock::text
