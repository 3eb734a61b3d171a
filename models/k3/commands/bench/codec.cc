#include "models/k3/commands/bench/codec.h"

#include <vector>

#include "models/k3/bench/codec/codec.h"
#include "models/k3/commands/bench/stages.h"
#include "runtime/options/command_line.h"
#include "runtime/process/stop_request.h"

namespace penstock::k3 {
namespace {

const CommandLine kBenchCodec{
    .name = "penstock bench codec",
    .summary = "Measures how fast weights are decoded on one core, beside memcpy and zstd.",
    .positional = "",
    .examples = {"penstock bench codec", "penstock bench codec -m DIR --threads 2 --json",
                 "penstock bench codec --codec chain,zstd --repetitions 25"}};

struct OutputOptions {
  bool json = false;

  template <class Self, class V>
  static void Visit(Self& c, V&& v) {
    v("json", c.json, "The rows as JSON: an array of objects.");
  }
};

Result<std::vector<CodecRow>> Measure(Console& console, const CodecBenchOptions& options,
                                      const StopRequest& stop) {
  Stages stages(console);
  return BenchCodec(options, {.notice = console.notice(), .progress = [&](const auto& progress) {
                                stages.Show(progress);
                                return !stop.requested();
                              }});
}

}  // namespace

int RunBenchCodec(Console& console, std::span<const std::string> arguments) {
  CodecBenchOptions options;
  OutputOptions output;
  OptionSet rows;
  rows.Add("codec", options);
  rows.Add("output", output);
  const auto parsed = ParseCommandLine(kBenchCodec, arguments, rows);
  if (!parsed) return console.Fail(parsed.error());
  if (*parsed == Parsed::kHelp) {
    const Status written = console.Write(FormatHelp(kBenchCodec, rows));
    return written ? 0 : console.Fail(written.error());
  }
  StopRequest stop;
  if (const Status listens = stop.Listen(); !listens) return console.Fail(listens.error());
  const auto measured = Measure(console, options, stop);
  if (!measured) return stop.ExitCode(console.Fail(measured.error()));
  const Status written =
      console.Write(output.json ? CodecJson(*measured).dump(2) + "\n" : CodecTable(*measured));
  return written ? 0 : console.Fail(written.error());
}

}  // namespace penstock::k3
