#include "models/k3/commands/bench/kernels.h"

#include "models/k3/bench/kernels/kernels.h"
#include "models/k3/commands/bench/run_bench.h"

namespace penstock::k3 {
namespace {

const CommandLine kBenchKernels{
    .name = "penstock bench kernels",
    .summary = "Measures how fast the kernels work on one core, beside memory and other ways.",
    .positional = "",
    .examples = {"penstock bench kernels", "penstock bench kernels --kernel mxfp4,bf16 --json",
                 "penstock bench kernels --isa avx2 --repetitions 25"}};

}  // namespace

int RunBenchKernels(Console& console, std::span<const std::string> arguments) {
  KernelBenchOptions options;
  OptionSet rows;
  rows.Add("kernels", options);
  return RunMeasured(
      console, kBenchKernels, arguments, rows,
      [&](const BenchHooks& hooks) { return BenchKernels(options, hooks); }, KernelTable,
      KernelJson);
}

}  // namespace penstock::k3
