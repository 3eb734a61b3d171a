#include "models/k3/bench/token/token.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "io/engines/decorators/pace.h"
#include "models/k3/bench/token/attempts.h"
#include "models/k3/bench/token/cancel_on_stop.h"
#include "models/k3/bench/token/forecast.h"
#include "models/k3/bench/token/graph_cost.h"
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
// Of a device that costs nothing, for a plan.
constexpr double kNoDevice = 1e15;
// Bytes a second: what a good NVMe device of 2024 reads.
constexpr double kUsualDevice = 7e9;
// Of what a step uses: with less from the device it is no measure of streaming.
constexpr double kLeastRead = 0.01;

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
    settings_.read_bytes = io_options.bs.bytes;
    settings_.depth = pipeline.depth;
    settings_.position = options_.steps;
    if (memory || !io_options.pace.empty()) {
      rates_.device_latency_ns = static_cast<double>(pace.latency.ns);
    }
    rates_.token_ns = 0;  // Nobody chooses a token.
    if (memory && pace.bytes_per_second == 0) io_options.pace = kAnyPace;
    PENSTOCK_TRY(engine_,
                 OpenForBench(options_.model, options_.steps + 2, pipeline, io_options, hooks_));
    const CancelOnStop watch(hooks_, [this] { engine_->Cancel(); });
    stepper_.emplace(*engine_);
    PENSTOCK_TRY_VOID(Learn(memory));
    if (device_bytes_ < kLeastRead * UsedBytes()) {
      return Refused(fmt::format(
          "a step reads {:.0f} bytes from the device and uses {:.0f}: there is nothing to measure "
          "it beside; --pin 0 and a smaller --expert-cache make it read",
          device_bytes_, UsedBytes()));
    }
    if (memory) AddStep(Kind::kCompute, "compute", 0);
    if (memory && pace.bytes_per_second == 0) {
      for (const double factor : balance) AddBalanced(factor);
    } else {
      AddStep(Kind::kStep, "step", pace.bytes_per_second);
      PENSTOCK_TRY_VOID(AddReplay(pace.bytes_per_second));
    }
    AddMessages();
    const CancelOnStop replays(hooks_, [this] {
      if (replay_ != nullptr) replay_->Cancel();
    });
    PENSTOCK_TRY(const Measured measured, MeasureAttempts(arms_, options_.repetitions, hooks_));
    return Summarise(measured);
  }

 private:
  // kPlan and kReplay belong to the step that was added before them.
  enum class Kind : uint8_t { kCompute, kStep, kPlan, kReplay, kMessage };
  struct ArmFacts {
    Kind kind = Kind::kStep;
    uint64_t pace = 0;
    size_t step = 0;                 // The arm itself, or the one that it belongs to.
    std::vector<double> moved = {};  // Of steps: device bytes of one, sample by sample.
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
    bytes_ = static_cast<double>(stats.bytes());
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

  void AddArm(std::string name, ArmFacts facts, std::function<Result<double>()> run) {
    facts.step =
        facts.kind == Kind::kPlan || facts.kind == Kind::kReplay ? last_step_ : arms_.size();
    if (facts.kind == Kind::kStep || facts.kind == Kind::kCompute) last_step_ = arms_.size();
    arms_.push_back({std::move(name), [this, pace = facts.pace, run = std::move(run)] {
                       engine_->reader().Repace(pace);
                       return run();
                     }});
    facts_.push_back(std::move(facts));
  }

  // Steps at a pace, and what the plan says of them, where it knows the device.
  void AddStep(Kind kind, const std::string& name, uint64_t pace) {
    AddArm(name, {kind, pace}, [this, arm = arms_.size()]() -> Result<double> {
      uint64_t moved = 0;
      size_t taken = 0;
      PENSTOCK_TRY(const double ns, Sample([&]() -> Status {
                     PENSTOCK_TRY_VOID(stepper_->Step());
                     if (taken++ > 0) moved += engine_->last_step().device_bytes;
                     return {};
                   }));
      facts_[arm].moved.push_back(static_cast<double>(moved) / static_cast<double>(options_.steps));
      return ns;
    });
    const double rate = kind == Kind::kCompute ? kNoDevice : static_cast<double>(pace);
    if (rate == 0) return;
    AddArm("plan of " + name, {Kind::kPlan, pace}, [this, rate] {
      MachineRates rates = rates_;
      rates.device = rate;
      if (rate == kNoDevice) rates.device_latency_ns = 0;
      return ForecastStep(*engine_, rates, settings_, options_.calibration_bytes);
    });
  }

  void AddBalanced(double factor) {
    const double rate = device_bytes_ * 1e9 / (factor * compute_ns_);
    AddStep(Kind::kStep, fmt::format("step, io = {:g} x compute", factor),
            static_cast<uint64_t>(rate));
  }

  // The reads of a step alone.
  Status AddReplay(uint64_t pace) {
    ReplayPlan plan;
    plan.pinned = engine_->plan().pinned;
    plan.ring_bytes = std::max(engine_->plan().ring_bytes, engine_->plan().largest_extent);
    plan.experts_per_layer = misses_;
    PENSTOCK_TRY(replay_, PlanReplay::Create(engine_->pass(), engine_->catalogue(),
                                             engine_->config().shape, engine_->reader(), plan));
    AddArm("replay", {Kind::kReplay, pace},
           [this] { return Sample([this] { return replay_->Run(1); }); });
    return {};
  }

  void AddMessages() {
    AddArm("message", {Kind::kMessage, 0},
           [this]() -> Result<double> { return MessageNs(engine_->cores().threads); });
  }

  TokenResult Summarise(const Measured& measured) const {
    TokenResult result;
    result.engine = engine_->Describe();
    result.cpu_lost = measured.cpu_lost;
    std::vector<size_t> row_of(arms_.size());
    for (size_t i = 0; i < arms_.size(); ++i) {
      const std::vector<double>& samples = measured.samples[i];
      const ArmFacts& facts = facts_[i];
      row_of[i] = result.rows.size();
      switch (facts.kind) {
        case Kind::kCompute:
        case Kind::kStep:
          result.rows.push_back(StepRow(i, samples));
          if (facts.kind == Kind::kStep && facts_[0].kind == Kind::kCompute) {
            AddOverlap(measured.samples[0], samples, facts.moved, result.rows.back());
          }
          break;
        case Kind::kReplay:
          result.rows.push_back(ReplayRow(i, samples));
          AddReplayRatio(measured.samples[facts.step], samples, result.rows[row_of[facts.step]]);
          break;
        case Kind::kPlan: {
          TokenRow& row = result.rows[row_of[facts.step]];
          row.plan_ns = Median(samples);
          row.plan_ratio = MedianRatio(measured.samples[facts.step], samples);
          break;
        }
        case Kind::kMessage:
          result.messages = MakeMessages(samples);
          break;
      }
    }
    return result;
  }

  TokenRow StepRow(size_t arm, const std::vector<double>& samples) const {
    TokenRow row = RowOf(arms_[arm].name, samples);
    row.bytes = bytes_;
    row.pace = static_cast<double>(facts_[arm].pace);
    if (row.pace > 0) row.io_ns = Median(facts_[arm].moved) * 1e9 / row.pace;
    return row;
  }

  TokenRow ReplayRow(size_t arm, const std::vector<double>& samples) const {
    TokenRow row = RowOf(arms_[arm].name, samples);
    row.bytes = static_cast<double>(replay_->step_bytes());
    row.pace = static_cast<double>(facts_[arm].pace);
    if (row.pace > 0) row.io_ns = row.bytes * 1e9 / row.pace;
    return row;
  }

  // All that a step uses, from wherever it comes.
  double UsedBytes() const { return bytes_ + static_cast<double>(engine_->plan().pinned_payload); }

  TokenMessages MakeMessages(const std::vector<double>& samples) const {
    TokenMessages messages;
    for (const NodeUse& node : engine_->last_step().figures.nodes) messages.a_step += node.messages;
    messages.ns = Median(samples);
    messages.share = static_cast<double>(messages.a_step) * messages.ns /
                     static_cast<double>(engine_->cores().threads) /
                     (UsedBytes() * 1e9 / kUsualDevice);
    return messages;
  }

  // `moved`: bytes of a step, of these rounds and of one before them that was not kept (Measure).
  static void AddOverlap(const std::vector<double>& compute, const std::vector<double>& step,
                         const std::vector<double>& moved, TokenRow& row) {
    std::vector<double> overlap;
    for (size_t r = 0; r < step.size(); ++r) {
      const double io = moved[moved.size() - step.size() + r] * 1e9 / row.pace;
      overlap.push_back(std::max(io, compute[r]) / step[r]);
    }
    row.overlap_median = Median(overlap);
    // The best of both sides, not the luckiest pair of them.
    row.overlap_best = std::max(row.io_ns, Summarize(compute).best) / row.best_ns;
  }

  static void AddReplayRatio(const std::vector<double>& step, const std::vector<double>& replay,
                             TokenRow& row) {
    const std::vector<double> ratios = PairRatios(step, replay);
    row.replay_ratio = Median(ratios);
    row.replay_ratio_low = LowerBoundOfMedian(ratios);
  }

  const TokenBenchOptions& options_;
  const BenchHooks& hooks_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<PlanReplay> replay_;  // Before the engine whose reader it uses.
  std::optional<Stepper> stepper_;
  std::vector<Attempt> arms_;
  std::vector<ArmFacts> facts_;  // [arms]
  size_t last_step_ = 0;
  MachineRates rates_;  // But for what is measured.
  StepSettings settings_;
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
