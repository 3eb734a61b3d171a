#include "models/k3/bench/token/predicting.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "models/k3/bench/token/stepper.h"
#include "models/k3/engine.h"
#include "runtime/measure/measure.h"
#include "runtime/measure/statistics.h"

namespace penstock::k3 {
namespace {

constexpr const char* kModes[] = {"off", "next", "previous", "both", "auto"};

Result<std::vector<std::string>> ParseModes(const std::string& text) {
  std::vector<std::string> modes;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    modes.push_back(text.substr(at, comma - at));
    if (std::find(std::begin(kModes), std::end(kModes), modes.back()) == std::end(kModes)) {
      return Refused(fmt::format("--predicting \"{}\": \"{}\" is none of {}", text, modes.back(),
                                 fmt::join(kModes, ", ")));
    }
    at = comma + 1;
  }
  return modes;
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
  std::vector<Arm> arms;
  std::optional<Error> error;
  for (const std::string& name : names) {
    PipelineOptions with = pipeline;
    with.predict = name;
    PENSTOCK_TRY(auto engine, OpenForBench(options.model, (options.repetitions + 1) * options.steps,
                                           with, io_options, hooks));
    modes.push_back(std::make_unique<Mode>(std::move(engine), options.steps));
    arms.push_back({"predict " + name, [&error, mode = modes.back().get()] {
                      const Result<double> ns = error ? Result<double>(*error) : mode->Sample();
                      if (!ns) error = ns.error();
                      return ns ? *ns : 0.0;
                    }});
  }
  MeasureOptions measure;
  measure.rounds = options.repetitions;
  measure.go_on = [&](size_t done, size_t total) {
    return (!hooks.progress || hooks.progress({"token: measuring", "samples", done, total})) &&
           !error;
  };
  const Result<Measured> measured = Measure(arms, measure);
  if (error) return std::move(*error);
  if (!measured) return measured.error();
  TokenResult result{{}, modes.front()->engine().Describe(), measured->cpu_lost};
  for (size_t i = 0; i < arms.size(); ++i) {
    const Summary summary = Summarize(measured->samples[i]);
    TokenRow row;
    row.arm = arms[i].name;
    row.best_ns = summary.best;
    row.median_ns = summary.median;
    row.spread = summary.spread;
    row.bytes = modes[i]->device_bytes();
    row.x_first = MedianRatio(measured->samples[i], measured->samples[0]);
    row.bytes_x_first = row.bytes / modes[0]->device_bytes();
    result.rows.push_back(std::move(row));
  }
  return result;
}

}  // namespace penstock::k3
