#include "models/k3/commands/commands.h"

#include <array>
#include <vector>

#include <fmt/format.h>

#include "models/k3/commands/bench/bench.h"
#include "models/k3/commands/checkpoint/inspect.h"
#include "models/k3/commands/checkpoint/synth.h"
#include "models/k3/commands/checkpoint/tokenize.h"
#include "models/k3/commands/config.h"
#include "models/k3/commands/generate/generate.h"
#include "models/k3/commands/pack/pack.h"
#include "models/k3/commands/plan.h"
#include "models/k3/commands/replay.h"
#include "models/k3/commands/version.h"
#include "runtime/options/nearest.h"

namespace penstock::k3 {
namespace {

struct Command {
  const char* name;
  const char* summary;
  int (*run)(Console&, std::span<const std::string>);
};

constexpr std::array<Command, 11> kCommands = {{
    {"generate", "continue a prompt with a checkpoint", RunGenerate},
    {"pack", "store the trunk losslessly in fewer bytes", RunPack},
    {"unpack", "the file back from its pack", RunUnpack},
    {"verify", "check every byte of a pack", RunVerify},
    {"inspect", "what a checkpoint holds, and what its weights are worth", RunInspect},
    {"plan", "what a run would hold, and how long a token would take", RunPlanCommand},
    {"tokenize", "the token ids of a text", RunTokenize},
    {"synth", "write a random checkpoint of any shape", RunSynth},
    {"replay", "what caches and predictors make of recorded routes", RunReplay},
    {"bench", "how fast a part of the program is on this machine", RunBench},
    {"config", "the values a run would use, as JSON", RunConfig},
}};

std::string Help() {
  std::string out =
      "penstock runs mixture-of-experts models that are far larger than memory by streaming their "
      "weights.\n\nusage: penstock COMMAND [options]\n\n";
  for (const Command& command : kCommands) {
    out += fmt::format("  {:<10}{}\n", command.name, command.summary);
  }
  return out + "\n  COMMAND --help   its options\n  --version        the program's version\n";
}

int RefuseCommand(Console& console, const std::string& name) {
  std::vector<std::string> names = {"--help", "--version"};
  for (const Command& command : kCommands) names.emplace_back(command.name);
  const std::string nearest = Nearest(name, names);
  return console.Fail(Refused(fmt::format("unknown command \"{}\"{}", name,
                                          nearest.empty() ? "" : ", the nearest is " + nearest)));
}

}  // namespace

int RunCommand(Console& console, std::span<const std::string> arguments) {
  if (arguments.empty()) {
    console.SayPlain(Help());
    return console.Fail(Refused("expected a command, got none"));
  }
  const std::string& name = arguments.front();
  if (name == "--help" || name == "-h" || name == "help") return console.Answer(Help());
  if (name == "--version") return console.Answer(fmt::format("penstock {}\n", kVersion));
  for (const Command& command : kCommands) {
    if (name == command.name) return command.run(console, arguments.subspan(1));
  }
  return RefuseCommand(console, name);
}

}  // namespace penstock::k3
