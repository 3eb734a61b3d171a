#include "models/k3/commands/bench/io.h"

#include "models/k3/bench/io/io.h"
#include "models/k3/commands/bench/stages.h"
#include "runtime/options/command_line.h"
#include "runtime/process/stop_request.h"

namespace penstock::k3 {
namespace {

const CommandLine kBenchIo{
    .name = "penstock bench io",
    .summary = "Measures how fast files are read, beside fio, and how long a demanded read takes.",
    .positional = "model",
    .examples = {"penstock bench io -m DIR", "penstock bench io -m FILE --ioengine pread --json",
                 "penstock bench io --pace 3G,100us --demands 1000"}};

struct OutputOptions {
  bool json = false;

  template <class Self, class V>
  static void Visit(Self& c, V&& v) {
    v("json", c.json, "The result as JSON, schema penstock.bench.io.v1.");
  }
};

Result<IoReport> Measure(Console& console, const IoBenchOptions& options, const StopRequest& stop) {
  Stages stages(console);
  return BenchIo(options, {.notice = console.notice(), .progress = [&](const auto& progress) {
                             stages.Show(progress);
                             return !stop.requested();
                           }});
}

}  // namespace

int RunBenchIo(Console& console, std::span<const std::string> arguments) {
  IoBenchOptions options;
  OutputOptions output;
  OptionSet rows;
  rows.Add("io", options);
  rows.Add("output", output);
  const auto parsed = ParseCommandLine(kBenchIo, arguments, rows);
  if (!parsed) return console.Fail(parsed.error());
  if (*parsed == Parsed::kHelp) {
    const Status written = console.Write(FormatHelp(kBenchIo, rows));
    return written ? 0 : console.Fail(written.error());
  }
  StopRequest stop;
  if (const Status listens = stop.Listen(); !listens) return console.Fail(listens.error());
  const auto measured = Measure(console, options, stop);
  if (!measured) return stop.ExitCode(console.Fail(measured.error()));
  const Status written =
      console.Write(output.json ? IoJson(*measured).dump(2) + "\n" : IoTable(*measured));
  return written ? 0 : console.Fail(written.error());
}

}  // namespace penstock::k3
