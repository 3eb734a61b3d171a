#include "models/k3/commands/bench/positions.h"

#include "models/k3/bench/positions/positions.h"
#include "models/k3/commands/bench/run_bench.h"

namespace penstock::k3 {
namespace {

const CommandLine kBenchPositions{
    .name = "penstock bench positions",
    .summary =
        "Measures what steps of several positions gain: drafts of texts that repeat and of texts "
        "that do not, and prompts read in chunks.",
    .positional = "model",
    .examples = {"penstock bench positions -m DIR --pace 1G --pin 0 --expert-cache 600M",
                 "penstock bench positions -m DIR --prompt 1024 --prefill-chunk 128 --json",
                 "penstock bench positions -m DIR --texts misleading --tokens 100"}};

}  // namespace

int RunBenchPositions(Console& console, std::span<const std::string> arguments) {
  PositionsBenchOptions options;
  text::DraftOptions draft;
  PipelineOptions pipeline;
  io::IoOptions io_options;
  OptionSet rows;
  rows.Add("positions", options);
  rows.Add("draft", draft);
  rows.Add("pipeline", pipeline);
  rows.Add("io", io_options);
  return RunMeasured(
      console, kBenchPositions, arguments, rows,
      [&](const BenchHooks& hooks) {
        return BenchPositions(options, draft, pipeline, io_options, hooks);
      },
      PositionsTable, PositionsJson);
}

}  // namespace penstock::k3
