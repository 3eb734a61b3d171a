#include "models/k3/bench/token/predicting.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "models/k3/bench/token/attempts.h"
#include "models/k3/bench/token/cancel_on_stop.h"
#include "models/k3/bench/token/stepper.h"
#include "models/k3/engine.h"
#include "runtime/machine/cgroup.h"
#include "runtime/measure/measure.h"
#include "runtime/measure/statistics.h"
#include "runtime/options/list.h"
#include "runtime/process/process.h"
#include "runtime/size.h"

namespace penstock::k3 {
namespace {

constexpr uint64_t kSlack = 16 * kMiB;  // What a process grows by beside what is planned.
constexpr const char* kModes[] = {"off", "next", "previous", "both", "auto"};

Result<std::vector<std::string>> ParseModes(const std::string& text) {
  std::vector<std::string> modes;
  for (const std::string& mode : SplitAtCommas(text)) {
    if (std::find(std::begin(kModes), std::end(kModes), mode) == std::end(kModes)) {
      return Refused(fmt::format("--predicting \"{}\": \"{}\" is none of {}", text, mode,
                                 fmt::join(kModes, ", ")));
    }
    modes.push_back(mode);
  }
  return modes;
}

// What the first engine has, the others have too: they differ in what they predict alone.
PipelineOptions SharesOf(const MemoryPlan& plan, PipelineOptions options) {
  options.ring.bytes = plan.ring_bytes;
  options.expert_cache.bytes = plan.cache_bytes();
  options.pin = std::to_string(plan.pinned_layers);
  options.preset = "auto";
  return options;
}

// One mode: an engine, the sequence it is in, and what its steps read.
class Mode {
 public:
  Mode(std::unique_ptr<Engine> engine, uint64_t steps)
      : engine_(std::move(engine)), stepper_(*engine_), steps_(steps) {}

  Engine& engine() { return *engine_; }

  // Nanoseconds of one step.
  Result<double> Sample() {
    device_bytes_.push_back(0);
    const uint64_t start = NowNs(Clock::kWall);
    for (uint64_t i = 0; i < steps_; ++i) {
      PENSTOCK_TRY_VOID(stepper_.Step());
      device_bytes_.back() += static_cast<double>(engine_->last_step().device_bytes);
    }
    return static_cast<double>(NowNs(Clock::kWall) - start) / static_cast<double>(steps_);
  }

  // Of one step; the first sample is not counted.
  double device_bytes() const {
    double sum = 0;
    for (size_t i = 1; i < device_bytes_.size(); ++i) sum += device_bytes_[i];
    return sum / static_cast<double>((device_bytes_.size() - 1) * steps_);
  }

 private:
  std::unique_ptr<Engine> engine_;
  Stepper stepper_;
  const uint64_t steps_;
  std::vector<double> device_bytes_;  // [samples]
};

}  // namespace

Result<TokenResult> BenchPredicting(const TokenBenchOptions& options,
                                    const PipelineOptions& pipeline,
                                    const io::IoOptions& io_options, const BenchHooks& hooks) {
  PENSTOCK_TRY(const std::vector<std::string> names, ParseModes(options.predicting));
  std::vector<std::unique_ptr<Mode>> modes;
  std::vector<Attempt> arms;
  PENSTOCK_TRY(const ProcessMemory before, ReadProcessMemory());
  PipelineOptions with = pipeline;
  if (with.memory.bytes == 0) {
    with.memory.bytes = ChooseMemoryBudget(before.rss_bytes).bytes / names.size();
  }
  const uint64_t each = with.memory.bytes;
  for (const std::string& name : names) {
    // What the engines before this one hold is charged to it as the program's own.
    PENSTOCK_TRY(const ProcessMemory now, ReadProcessMemory());
    with.memory.bytes = each + (now.rss_bytes - std::min(now.rss_bytes, before.rss_bytes)) +
                        (modes.empty() ? 0 : kSlack);
    with.predict = name;
    PENSTOCK_TRY(auto engine, OpenForBench(options.model, (options.repetitions + 1) * options.steps,
                                           with, io_options, hooks));
    if (modes.empty()) with = SharesOf(engine->plan(), with);
    modes.push_back(std::make_unique<Mode>(std::move(engine), options.steps));
    arms.push_back({"predict " + name, [mode = modes.back().get()] { return mode->Sample(); }});
  }
  const CancelOnStop watch(hooks, [&] {
    for (const auto& mode : modes) mode->engine().Cancel();
  });
  PENSTOCK_TRY(const Measured measured, MeasureAttempts(arms, options.repetitions, hooks));
  TokenResult result{{}, {}, modes.front()->engine().Describe(), measured.cpu_lost};
  for (size_t i = 0; i < arms.size(); ++i) {
    TokenRow row = RowOf(arms[i].name, measured.samples[i]);
    row.bytes = modes[i]->device_bytes();
    row.x_first = MedianRatio(measured.samples[i], measured.samples[0]);
    row.bytes_x_first = row.bytes / modes[0]->device_bytes();
    result.rows.push_back(std::move(row));
  }
  return result;
}

}  // namespace penstock::k3
