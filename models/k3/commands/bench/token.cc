#include "models/k3/commands/bench/token.h"

#include "models/k3/bench/token/token.h"
#include "models/k3/commands/bench/stages.h"
#include "runtime/options/command_line.h"
#include "runtime/process/stop_request.h"

namespace penstock::k3 {
namespace {

const CommandLine kBenchToken{
    .name = "penstock bench token",
    .summary =
        "Measures whole steps beside what bounds them: the device alone, the arithmetic "
        "alone.",
    .positional = "",
    .examples = {"penstock bench token -m DIR --ioengine memory",
                 "penstock bench token -m DIR --ioengine memory --pace 2G --json",
                 "penstock bench token -m DIR --repetitions 15"}};

struct OutputOptions {
  bool json = false;

  template <class Self, class V>
  static void Visit(Self& c, V&& v) {
    v("json", c.json, "The result as JSON, schema penstock.bench.token.v1.");
  }
};

}  // namespace

int RunBenchToken(Console& console, std::span<const std::string> arguments) {
  TokenBenchOptions options;
  PipelineOptions pipeline;
  io::IoOptions io_options;
  OutputOptions output;
  OptionSet rows;
  rows.Add("token", options);
  rows.Add("pipeline", pipeline);
  rows.Add("io", io_options);
  rows.Add("output", output);
  const auto parsed = ParseCommandLine(kBenchToken, arguments, rows);
  if (!parsed) return console.Fail(parsed.error());
  if (*parsed == Parsed::kHelp) {
    const Status written = console.Write(FormatHelp(kBenchToken, rows));
    return written ? 0 : console.Fail(written.error());
  }
  StopRequest stop;
  if (const Status listens = stop.Listen(); !listens) return console.Fail(listens.error());
  Stages stages(console);
  const auto result =
      BenchToken(options, pipeline, io_options,
                 {.notice = console.notice(), .progress = [&](const BenchProgress& progress) {
                    stages.Show(progress);
                    return !stop.requested();
                  }});
  if (!result) return stop.ExitCode(console.Fail(result.error()));
  const Status written =
      console.Write(output.json ? TokenJson(*result).dump(2) + "\n" : TokenTable(*result));
  return written ? 0 : console.Fail(written.error());
}

}  // namespace penstock::k3
