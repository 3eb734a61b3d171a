#include "models/k3/commands/generate/prompt.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "models/text/token_ids.h"
#include "runtime/small_file.h"

namespace penstock::k3 {
namespace {

constexpr const char* kTokenizerFiles[] = {"tiktoken.model", "tokenizer_config.json"};

bool HasTokenizer(const std::string& directory) {
  std::error_code failure;
  return std::any_of(std::begin(kTokenizerFiles), std::end(kTokenizerFiles), [&](const char* name) {
    return std::filesystem::exists(std::filesystem::path(directory) / name, failure);
  });
}

Result<std::vector<text::TokenId>> ReadIdList(const std::string& ids) {
  return ids.starts_with('@') ? text::ReadIds(ids.substr(1)) : text::ParseIds(ids, "--ids");
}

}  // namespace

Result<std::optional<text::Tokenizer>> FindTokenizer(const std::string& directory,
                                                     size_t vocab_size, bool required,
                                                     const Notice& notice) {
  using Found = std::optional<text::Tokenizer>;
  if (!required && !HasTokenizer(directory)) return Found();
  auto tokenizer = text::Tokenizer::Load(directory, vocab_size);
  if (tokenizer) return Found(std::move(*tokenizer));
  if (required) return std::move(tokenizer).error();
  Tell(notice, "no text, ids alone: " + tokenizer.error().message);
  return Found();
}

Result<std::vector<text::TokenId>> ReadPrompt(const RunOptions& options,
                                              const std::optional<text::Tokenizer>& tokenizer) {
  const int given = !options.prompt.empty() + !options.file.empty() + !options.ids.empty();
  if (given != 1) {
    return Refused(
        fmt::format("expected one of -p TEXT, -f FILE and --ids LIST that is not empty, "
                    "got {}",
                    given == 0 ? "none" : std::to_string(given)));
  }
  if (!options.ids.empty()) return ReadIdList(options.ids);
  if (!tokenizer) {
    return Refused(
        fmt::format("{} has no tokenizer files: give the prompt as --ids", options.model));
  }
  if (options.file.empty()) return tokenizer->Encode(options.prompt);
  PENSTOCK_TRY(const std::string text, ReadSmallFile(options.file));
  return tokenizer->Encode(text);
}

Status CheckPrompt(std::span<const text::TokenId> prompt, const Shape& shape) {
  if (prompt.empty()) return Refused("expected a prompt of at least one token, got none");
  const auto foreign = std::find_if(prompt.begin(), prompt.end(),
                                    [&](text::TokenId id) { return id >= shape.vocab; });
  if (foreign == prompt.end()) return {};
  return Refused(fmt::format("prompt token {}: expected an id below {}, got {}",
                             foreign - prompt.begin(), shape.vocab, *foreign));
}

Result<uint64_t> ChooseContext(size_t prompt, size_t generated, uint64_t asked,
                               const Shape& shape) {
  const uint64_t context =
      asked > 0 ? asked : std::min<uint64_t>(prompt + generated, shape.max_context);
  if (context > shape.max_context) {
    return Refused(fmt::format("-c: expected at most the model's {} positions, got {}",
                               shape.max_context, context));
  }
  if (prompt > context) {
    return Refused(fmt::format("the prompt has {} tokens, more than the context of {} positions",
                               prompt, context));
  }
  return context;
}

}  // namespace penstock::k3
