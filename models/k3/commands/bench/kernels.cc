#include "models/k3/commands/bench/kernels.h"

#include "models/k3/bench/kernels/kernels.h"
#include "models/k3/commands/bench/stages.h"
#include "runtime/options/command_line.h"
#include "runtime/process/stop_request.h"

namespace penstock::k3 {
namespace {

const CommandLine kBenchKernels{
    .name = "penstock bench kernels",
    .summary = "Measures how fast the kernels work on one core, beside memory and other ways.",
    .positional = "",
    .examples = {"penstock bench kernels", "penstock bench kernels --kernel mxfp4,bf16 --json",
                 "penstock bench kernels --isa avx2 --repetitions 25"}};

struct OutputOptions {
  bool json = false;

  template <class Self, class V>
  static void Visit(Self& c, V&& v) {
    v("json", c.json, "The rows as JSON, with the name of its schema.");
  }
};

Result<KernelReport> Measure(Console& console, const KernelBenchOptions& options,
                             const StopRequest& stop) {
  Stages stages(console);
  return BenchKernels(options, {.notice = console.notice(), .progress = [&](const auto& progress) {
                                  stages.Show(progress);
                                  return !stop.requested();
                                }});
}

}  // namespace

int RunBenchKernels(Console& console, std::span<const std::string> arguments) {
  KernelBenchOptions options;
  OutputOptions output;
  OptionSet rows;
  rows.Add("kernels", options);
  rows.Add("output", output);
  const auto parsed = ParseCommandLine(kBenchKernels, arguments, rows);
  if (!parsed) return console.Fail(parsed.error());
  if (*parsed == Parsed::kHelp) {
    const Status written = console.Write(FormatHelp(kBenchKernels, rows));
    return written ? 0 : console.Fail(written.error());
  }
  StopRequest stop;
  if (const Status listens = stop.Listen(); !listens) return console.Fail(listens.error());
  const auto measured = Measure(console, options, stop);
  if (!measured) return stop.ExitCode(console.Fail(measured.error()));
  const Status written =
      console.Write(output.json ? KernelJson(*measured).dump(2) + "\n" : KernelTable(*measured));
  return written ? 0 : console.Fail(written.error());
}

}  // namespace penstock::k3
