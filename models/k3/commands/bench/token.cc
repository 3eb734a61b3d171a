#include "models/k3/commands/bench/token.h"

#include "models/k3/bench/token/token.h"
#include "models/k3/commands/bench/run_bench.h"

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

}  // namespace

int RunBenchToken(Console& console, std::span<const std::string> arguments) {
  TokenBenchOptions options;
  PipelineOptions pipeline;
  io::IoOptions io_options;
  OptionSet rows;
  rows.Add("token", options);
  rows.Add("pipeline", pipeline);
  rows.Add("io", io_options);
  return RunMeasured(
      console, kBenchToken, arguments, rows,
      [&](const BenchHooks& hooks) { return BenchToken(options, pipeline, io_options, hooks); },
      TokenTable, TokenJson);
}

}  // namespace penstock::k3
