#pragma once

#include <span>
#include <string>

#include "models/k3/bench/hooks.h"
#include "models/k3/commands/console.h"
#include "runtime/options/command_line.h"
#include "runtime/process/stop_request.h"

namespace penstock::k3 {

// A progress line for each stage of a benchmark.
class Stages {
 public:
  explicit Stages(Console& console) : console_(console) {}
  ~Stages() { console_.EndProgress(); }

  void Show(const BenchProgress& progress) {
    if (progress.stage != stage_) {
      console_.EndProgress();
      stage_ = progress.stage;
      console_.Say(stage_);
      console_.StartProgress(std::string(progress.unit), progress.total);
    }
    console_.Advance(progress.done, "");
  }

 private:
  Console& console_;
  std::string stage_;
};

struct BenchOutput {
  bool json = false;

  template <class Self, class V>
  static void Visit(Self& c, V&& v) {
    v("json", c.json, "The result as JSON, with the name of its schema, not as a table.");
  }
};

// What the command of every benchmark does: options, help, progress, signals, and a table or JSON.
// `rows` hold the benchmark's options; measure: Result<R>(const BenchHooks&), table: string(R),
// json: Json(R). Answers the exit code.
template <class Measure, class Table, class ToJson>
int RunMeasured(Console& console, const CommandLine& line, std::span<const std::string> arguments,
                OptionSet& rows, const Measure& measure, const Table& table, const ToJson& json) {
  BenchOutput output;
  rows.Add("output", output);
  const auto parsed = ParseCommandLine(line, arguments, rows);
  if (!parsed) return console.Fail(parsed.error());
  if (*parsed == Parsed::kHelp) return console.Answer(FormatHelp(line, rows));
  StopRequest stop;
  if (const Status listens = stop.Listen(); !listens) return console.Fail(listens.error());
  const auto measured = [&] {
    Stages stages(console);
    return measure({.notice = console.notice(),
                    .progress =
                        [&](const BenchProgress& progress) {
                          stages.Show(progress);
                          return !stop.requested();
                        },
                    .stopped = [&] { return stop.requested(); }});
  }();
  if (!measured) return stop.ExitCode(console.Fail(measured.error()));
  return console.Answer(output.json ? json(*measured).dump(2) + "\n" : table(*measured));
}

}  // namespace penstock::k3
