#include "models/k3/commands/checkpoint/synth.h"

#include <fmt/format.h>

#include "models/k3/synth/synth.h"
#include "runtime/options/command_line.h"
#include "runtime/process/stop_request.h"
#include "runtime/size.h"

namespace penstock::k3 {
namespace {

const CommandLine kSynth{
    .name = "penstock synth",
    .summary = "Writes a random checkpoint of any shape, the same for the same options and seed.",
    .positional = "out",
    .examples = {"penstock synth -o wide --layers 13 --hidden 512 --experts 64 --seed 7",
                 "penstock inspect wide"}};

Result<SynthResult> WriteCheckpoint(Console& console, const SynthOptions& options,
                                    const StopRequest& stop) {
  console.StartProgress("MiB", 0);
  auto result = Synthesize(options, [&](uint64_t done, uint64_t total) {
    console.Advance(done / kMiB, "of " + DescribeSize(total));
    return !stop.requested();
  });
  console.EndProgress();
  return result;
}

}  // namespace

int RunSynth(Console& console, std::span<const std::string> arguments) {
  SynthOptions options;
  OptionSet rows;
  rows.Add("synth", options);
  const auto parsed = ParseCommandLine(kSynth, arguments, rows);
  if (!parsed) return console.Fail(parsed.error());
  if (*parsed == Parsed::kHelp) {
    const Status written = console.Write(FormatHelp(kSynth, rows));
    return written ? 0 : console.Fail(written.error());
  }
  if (options.out.empty()) return console.Fail(Refused("expected a directory to write: -o DIR"));
  StopRequest stop;
  if (const Status listens = stop.Listen(); !listens) return console.Fail(listens.error());
  const auto result = WriteCheckpoint(console, options, stop);
  if (!result) return stop.ExitCode(console.Fail(result.error()));
  console.Say(fmt::format("{}: {} tensors, {} in {} shards", options.out, result->tensors,
                          DescribeSize(result->bytes), result->files));
  return 0;
}

}  // namespace penstock::k3
