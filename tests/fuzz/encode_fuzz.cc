// Text through the tokenizer. Nothing is lost, nothing becomes special, both engines of the
// pre-split agree, and the ids streamed one by one give the text back.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/text/detokenizer.h"
#include "models/text/encoding/presplit.h"
#include "models/text/encoding/utf8.h"
#include "models/text/tokenizer.h"
#include "runtime/check.h"
#include "tests/models/text/encoding/ranks_file.h"

namespace penstock::text {
namespace {

Tokenizer MakeTokenizer() {
  auto vocabulary = Vocabulary::Parse(
      {"ranks", RanksFile({"  ", " t", "th", "he", "the", " the", "'s", "\n\n", "\xC3\xA9",
                           "\xE6\x9C", "\x88\xE6", "aa", "aaa", "aaaa", "    "})},
      {"config", R"({"added_tokens_decoder": {"271": {"content": "the"}}})"}, SIZE_MAX);
  PENSTOCK_CHECK(vocabulary);
  auto tokenizer = Tokenizer::Create(std::move(vocabulary).value());
  PENSTOCK_CHECK(tokenizer);
  return std::move(tokenizer).value();
}

std::vector<std::string> Split(PreSplitter::Engine engine, std::string_view text) {
  static const PreSplitter jit = *PreSplitter::Create(PreSplitter::Engine::kJitIfAvailable);
  static const PreSplitter interpreter = *PreSplitter::Create(PreSplitter::Engine::kInterpreter);
  std::vector<std::string> pieces;
  const auto status = (engine == PreSplitter::Engine::kInterpreter ? interpreter : jit)
                          .Split(text, [&](std::string_view piece) { pieces.emplace_back(piece); });
  PENSTOCK_CHECK(status);
  return pieces;
}

void Check(std::string_view text) {
  static const Tokenizer tokenizer = MakeTokenizer();
  const std::string valid = ReplaceInvalidUtf8(text);
  const auto pieces = Split(PreSplitter::Engine::kJitIfAvailable, valid);
  PENSTOCK_CHECK(pieces == Split(PreSplitter::Engine::kInterpreter, valid));
  std::string joined;
  for (const std::string& piece : pieces) {
    PENSTOCK_CHECK(!piece.empty() && IsValidUtf8(piece));
    joined += piece;
  }
  PENSTOCK_CHECK(joined == valid);
  const auto ids = tokenizer.Encode(text);
  PENSTOCK_CHECK(ids);
  Detokenizer detokenizer(tokenizer);
  std::string streamed;
  for (const TokenId id : *ids) {
    PENSTOCK_CHECK(!tokenizer.vocabulary().IsSpecial(id));
    streamed += detokenizer.Push(id);
  }
  PENSTOCK_CHECK(streamed + detokenizer.Finish() == valid);
}

}  // namespace
}  // namespace penstock::text

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  penstock::text::Check({reinterpret_cast<const char*>(data), size});
  return 0;
}
