#include "models/k3/commands/bench/io.h"

#include "models/k3/bench/io/io.h"
#include "models/k3/commands/bench/run_bench.h"

namespace penstock::k3 {
namespace {

const CommandLine kBenchIo{
    .name = "penstock bench io",
    .summary = "Measures how fast files are read, beside fio, and how long a demanded read takes.",
    .positional = "model",
    .examples = {"penstock bench io -m DIR", "penstock bench io -m FILE --ioengine pread --json",
                 "penstock bench io --pace 3G,100us --demands 1000"}};

}  // namespace

int RunBenchIo(Console& console, std::span<const std::string> arguments) {
  IoBenchOptions options;
  OptionSet rows;
  rows.Add("io", options);
  return RunMeasured(
      console, kBenchIo, arguments, rows,
      [&](const BenchHooks& hooks) { return BenchIo(options, hooks); }, IoTable, IoJson);
}

}  // namespace penstock::k3
