#include "models/k3/commands/plan.h"

#include "models/k3/plan/preset.h"
#include "models/k3/plan/request.h"
#include "models/k3/plan/run_plan.h"
#include "runtime/options/command_line.h"

namespace penstock::k3 {
namespace {

const CommandLine kPlan{
    .name = "penstock plan",
    .summary =
        "Shares memory out for a checkpoint, or for a config alone, and predicts how long a token "
        "takes and why.",
    .positional = "model",
    .examples = {"penstock plan --config config.json --disk 7G --cores 16 --memory 64G",
                 "penstock plan --config config.json --disk 14G --memory 8G --pack-ratio 0.667",
                 "penstock plan -m DIR --disk 3G --calibrate --json",
                 "penstock plan --list-presets"}};

Result<std::string> Answer(const PlanOptions& options, const PipelineOptions& pipeline,
                           const io::IoOptions& io_options, const Notice& notice) {
  if (options.list_presets) return PresetTable();
  PENSTOCK_TRY(const PlanRequest request, MakePlanRequest(options, pipeline, io_options, notice));
  PENSTOCK_TRY(const RunPlan plan, MakePlan(request));
  return options.json ? RunPlanJson(request, plan).dump(2) + "\n" : RunPlanTable(request, plan);
}

}  // namespace

int RunPlanCommand(Console& console, std::span<const std::string> arguments) {
  PlanOptions options;
  PipelineOptions pipeline;
  io::IoOptions io_options;
  OptionSet rows;
  rows.Add("plan", options);
  rows.Add("pipeline", pipeline);
  rows.Add("io", io_options);
  const auto parsed = ParseCommandLine(kPlan, arguments, rows);
  if (!parsed) return console.Fail(parsed.error());
  const Result<std::string> text = *parsed == Parsed::kHelp
                                       ? FormatHelp(kPlan, rows)
                                       : Answer(options, pipeline, io_options, console.notice());
  if (!text) return console.Fail(text.error());
  return console.Answer(*text);
}

}  // namespace penstock::k3
