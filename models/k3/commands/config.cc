#include "models/k3/commands/config.h"

#include "models/k3/commands/generate/options.h"
#include "runtime/options/command_line.h"

namespace penstock::k3 {
namespace {

const CommandLine kConfig{
    .name = "penstock config",
    .summary = "Prints the values that generate would use, as JSON for --config.",
    .positional = "",
    .examples = {"penstock config --memory 64G --iodepth 16 > fast.json",
                 "penstock generate --config fast.json -m DIR -p \"Once\""}};

}  // namespace

int RunConfig(Console& console, std::span<const std::string> arguments) {
  GenerateSettings settings;
  OptionSet rows = settings.Rows();
  const auto parsed = ParseCommandLine(kConfig, arguments, rows);
  if (!parsed) return console.Fail(parsed.error());
  return console.Answer(*parsed == Parsed::kHelp ? FormatHelp(kConfig, rows)
                                                 : rows.ToJson().dump(2) + "\n");
}

}  // namespace penstock::k3
