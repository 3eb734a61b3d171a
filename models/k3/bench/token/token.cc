#include "models/k3/bench/token/token.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "io/engines/decorators/pace.h"
#include "models/k3/bench/token/attempts.h"
#include "models/k3/bench/token/plan_replay.h"
#include "models/k3/bench/token/predicting.h"
#include "models/k3/bench/token/stepper.h"
#include "models/k3/engine.h"
#include "runtime/measure/measure.h"
#include "runtime/measure/statistics.h"
#include "runtime/options/list.h"

namespace penstock::k3 {
namespace {

// The rate to begin with where it is set before each sample.
constexpr const char* kAnyPace = "1T";

Result<std::vector<double>> ParseBalance(const std::string& text) {
  std::vector<double> out;
  for (const std::string& part : SplitAtCommas(text)) {
    size_t used = 0;
    double value = 0;
    try {
      value = std::stod(part, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used == 0 || used != part.size() || !(value >= 0.01 && value <= 100)) {
      return Refused(fmt::format(
          "--balance \"{}\": expected numbers from 0.01 to 100 such as 1,3,0.333, got \"{}\"", text,
          part));
    }
    out.push_back(value);
  }
  return out;
}

// The value that with 95 % probability the median is not below: an order statistic, which holds for
// any distribution (binomial, one-sided).
std::optional<double> LowerBoundOfMedian(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const auto n = static_cast<double>(samples.size());
  double tail = 0;
  double term = std::pow(0.5, n);  // Of no sample below the median.
  size_t rank = 0;
  while (tail + term <= 0.05 && rank < samples.size()) {
    tail += term;
    term *= (n - static_cast<double>(rank)) / static_cast<double>(rank + 1);
    ++rank;
  }
  if (rank == 0) return std::nullopt;  // Too few samples for any.
  return samples[rank - 1];
}

class TokenBench {
 public:
  TokenBench(const TokenBenchOptions& options, const BenchHooks& hooks)
      : options_(options), hooks_(hooks) {}

  Result<TokenResult> Run(const PipelineOptions& pipeline, io::IoOptions io_options) {
    PENSTOCK_TRY(const std::vector<double> balance, ParseBalance(options_.balance));
    PENSTOCK_TRY(const io::Pace pace, io::ParsePace(io_options.pace));
    const bool memory = io_options.ioengine == "memory";
    if (memory && pace.bytes_per_second == 0) io_options.pace = kAnyPace;
    PENSTOCK_TRY(engine_,
                 OpenForBench(options_.model, options_.steps + 2, pipeline, io_options, hooks_));
    stepper_.emplace(*engine_);
    PENSTOCK_TRY_VOID(Learn(memory));
    if (memory) AddArm("compute", 0, [this] { return stepper_->Step(); });
    if (memory && pace.bytes_per_second == 0) {
      for (const double factor : balance) AddBalanced(factor);
    } else {
      PENSTOCK_TRY_VOID(AddPair(pace.bytes_per_second));
    }
    PENSTOCK_TRY(const Measured measured, MeasureAttempts(arms_, options_.repetitions, hooks_));
    return Summarise(measured);
  }

 private:
  struct Kind {
    uint64_t pace = 0;
    bool replay = false;
  };

  // Some steps: what a step reads and, at no pace, what the arithmetic takes.
  Status Learn(bool memory) {
    if (memory) engine_->reader().Repace(0);
    std::vector<double> samples;
    for (int sample = 0; sample < 3; ++sample) {
      PENSTOCK_TRY(const double ns, Sample([this] { return stepper_->Step(); }));
      samples.push_back(ns);
    }
    compute_ns_ = Median(samples);
    const StepStats& stats = engine_->last_step();
    bytes_ = static_cast<double>(stats.trunk_bytes + stats.head_bytes + stats.expert_bytes +
                                 stats.embed_bytes);
    device_bytes_ = static_cast<double>(stats.device_bytes);
    const size_t layers = engine_->config().shape.moe_layers();
    misses_ = layers == 0 ? 0 : (stats.expert_misses + layers / 2) / layers;
    return {};
  }

  // One step that is not timed and then as many as asked for: nanoseconds of one.
  template <class Work>
  Result<double> Sample(const Work& work) {
    stepper_->Restart();
    PENSTOCK_TRY_VOID(work());
    const uint64_t start = NowNs(Clock::kWall);
    for (uint64_t i = 0; i < options_.steps; ++i) PENSTOCK_TRY_VOID(work());
    return static_cast<double>(NowNs(Clock::kWall) - start) / static_cast<double>(options_.steps);
  }

  template <class Work>
  void AddArm(std::string name, uint64_t pace, Work work, bool replay = false) {
    kinds_.push_back({pace, replay});
    arms_.push_back({std::move(name), [this, pace, work] {
                       engine_->reader().Repace(pace);
                       return Sample(work);
                     }});
  }

  void AddBalanced(double factor) {
    const double rate = device_bytes_ * 1e9 / (factor * compute_ns_);
    AddArm(fmt::format("step, io = {:g} x compute", factor), static_cast<uint64_t>(rate),
           [this] { return stepper_->Step(); });
  }

  // The step and the replay of its reads.
  Status AddPair(uint64_t pace) {
    ReplayPlan plan;
    plan.pinned = engine_->plan().pinned;
    plan.ring_bytes = std::max(engine_->plan().ring_bytes, engine_->plan().largest_extent);
    plan.experts_per_layer = misses_;
    PENSTOCK_TRY(replay_, PlanReplay::Create(engine_->pass(), engine_->catalogue(),
                                             engine_->config().shape, engine_->reader(), plan));
    AddArm("step", pace, [this] { return stepper_->Step(); });
    AddArm(
        "replay", pace, [this] { return replay_->Run(1); }, true);
    return {};
  }

  TokenResult Summarise(const Measured& measured) const {
    TokenResult result;
    result.engine = engine_->Describe();
    result.cpu_lost = measured.cpu_lost;
    for (size_t i = 0; i < arms_.size(); ++i) {
      TokenRow row = RowOf(arms_[i].name, measured.samples[i]);
      row.bytes = kinds_[i].replay ? static_cast<double>(replay_->step_bytes()) : bytes_;
      row.pace = static_cast<double>(kinds_[i].pace);
      if (row.pace > 0) row.io_ns = device_bytes_ * 1e9 / row.pace;
      const bool has_compute = arms_[0].name == "compute";
      if (row.pace > 0 && has_compute && !kinds_[i].replay) {
        AddOverlap(measured.samples[0], measured.samples[i], row);
      }
      if (!kinds_[i].replay && i + 1 < arms_.size() && kinds_[i + 1].replay) {
        AddReplay(measured.samples[i], measured.samples[i + 1], row);
      }
      result.rows.push_back(std::move(row));
    }
    return result;
  }

  static void AddOverlap(const std::vector<double>& compute, const std::vector<double>& step,
                         TokenRow& row) {
    std::vector<double> overlap;
    for (size_t r = 0; r < step.size(); ++r) {
      overlap.push_back(std::max(row.io_ns, compute[r]) / step[r]);
    }
    row.overlap_best = Summarize(overlap).worst;  // The largest.
    row.overlap_median = Median(overlap);
  }

  static void AddReplay(const std::vector<double>& step, const std::vector<double>& replay,
                        TokenRow& row) {
    std::vector<double> ratios;
    for (size_t r = 0; r < step.size(); ++r) ratios.push_back(step[r] / replay[r]);
    row.replay_ratio = Median(ratios);
    row.replay_ratio_low = LowerBoundOfMedian(ratios);
  }

  const TokenBenchOptions& options_;
  const BenchHooks& hooks_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<PlanReplay> replay_;  // Before the engine whose reader it uses.
  std::optional<Stepper> stepper_;
  std::vector<Attempt> arms_;
  std::vector<Kind> kinds_;
  double compute_ns_ = 0;
  double bytes_ = 0;
  double device_bytes_ = 0;
  uint64_t misses_ = 0;
};

}  // namespace

Result<TokenResult> BenchToken(const TokenBenchOptions& options, const PipelineOptions& pipeline,
                               const io::IoOptions& io_options, const BenchHooks& hooks) {
  if (options.model.empty()) return Refused("expected a checkpoint's directory: -m DIR");
  if (!options.predicting.empty()) return BenchPredicting(options, pipeline, io_options, hooks);
  return TokenBench(options, hooks).Run(pipeline, io_options);
}

}  // namespace penstock::k3
