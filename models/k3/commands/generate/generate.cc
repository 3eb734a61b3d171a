#include "models/k3/commands/generate/generate.h"

#include "models/k3/commands/generate/options.h"
#include "models/k3/commands/generate/run.h"
#include "runtime/options/command_line.h"

namespace penstock::k3 {
namespace {

const CommandLine kGenerate{
    .name = "penstock generate",
    .summary = "Continues a prompt with a Kimi K3 checkpoint that is streamed from storage.",
    .positional = "",
    .examples = {
        "penstock generate -m models/k3/tiny -p \"It is a truth universally acknowledged,\" -n 48",
        "penstock generate -m DIR -f prompt.txt --temp 0.7 --top-p 0.9 --seed 1 --stats",
        "penstock generate -m DIR --ids 1,2,3 --output ids --memory 64G --events run.jsonl"}};

}  // namespace

int RunGenerate(Console& console, std::span<const std::string> arguments) {
  GenerateSettings settings;
  OptionSet rows = settings.Rows();
  const auto parsed = ParseCommandLine(kGenerate, arguments, rows);
  if (!parsed) return console.Fail(parsed.error());
  if (*parsed == Parsed::kHelp) return console.Answer(FormatHelp(kGenerate, rows));
  Run run(settings, console);
  Status done = run.Prepare();
  if (done) done = run.Execute();
  if (done) return 0;
  const int code = console.Fail(done.error());
  return done.error().code == ErrorCode::kCancelled && run.signal() != 0 ? 128 + run.signal()
                                                                         : code;
}

}  // namespace penstock::k3
