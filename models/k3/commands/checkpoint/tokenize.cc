#include "models/k3/commands/checkpoint/tokenize.h"

#include <optional>
#include <vector>

#include "models/k3/commands/generate/prompt.h"
#include "models/k3/config/shape.h"
#include "models/text/token_ids.h"
#include "models/text/tokenizer.h"
#include "runtime/options/command_line.h"

namespace penstock::k3 {
namespace {

const CommandLine kTokenize{
    .name = "penstock tokenize",
    .summary = "The token ids of a text, as --ids and --force-ids of generate read them.",
    .positional = "",
    .examples = {"penstock tokenize -m models/k3/tiny -p \"Once upon a time\"",
                 "penstock tokenize -m DIR -f text.txt > ids.txt"}};

struct TokenizeOptions {
  std::string model;
  std::string prompt;
  std::string file;

  template <class Self, class V>
  static void Visit(Self& c, V&& v) {
    v("model,m", c.model, "Directory of the checkpoint.");
    v("prompt,p", c.prompt, "The text.");
    v("file,f", c.file, "File with the text.");
  }
};

Result<std::string> Tokenized(const TokenizeOptions& options, const Notice& notice) {
  if (options.model.empty()) return Refused("expected a checkpoint's directory: -m DIR");
  PENSTOCK_TRY(const Config config, ReadConfig(options.model));
  PENSTOCK_TRY(const std::optional<text::Tokenizer> tokenizer,
               FindTokenizer(options.model, config.shape.vocab, true, notice));
  RunOptions text;
  text.model = options.model;
  text.prompt = options.prompt;
  text.file = options.file;
  PENSTOCK_TRY(const std::vector<text::TokenId> ids, ReadPrompt(text, tokenizer));
  return text::FormatIds(ids) + "\n";
}

}  // namespace

int RunTokenize(Console& console, std::span<const std::string> arguments) {
  TokenizeOptions options;
  OptionSet rows;
  rows.Add("tokenize", options);
  const auto parsed = ParseCommandLine(kTokenize, arguments, rows);
  if (!parsed) return console.Fail(parsed.error());
  if (*parsed == Parsed::kHelp) return console.Answer(FormatHelp(kTokenize, rows));
  const Result<std::string> ids = Tokenized(options, console.notice());
  return ids ? console.Answer(*ids) : console.Fail(ids.error());
}

}  // namespace penstock::k3
