#include "models/k3/bench/positions/positions.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "io/engines/decorators/pace.h"
#include "models/k3/bench/positions/experts_read.h"
#include "models/k3/bench/positions/texts.h"
#include "models/k3/bench/token/attempts.h"
#include "models/k3/bench/token/cancel_on_stop.h"
#include "models/k3/bench/token/stepper.h"
#include "models/k3/engine.h"
#include "models/text/choose/forced_ids.h"
#include "models/text/generate.h"
#include "runtime/measure/clock.h"
#include "runtime/measure/measure.h"
#include "runtime/measure/statistics.h"

namespace penstock::k3 {
namespace {

// What the runs of an arm came to, all of them together but for the first, which is not kept.
struct ArmTotals {
  std::string name;
  size_t beside = 0;       // The arm that it is compared with, or itself.
  uint64_t positions = 0;  // Of a run.
  uint64_t runs = 0;
  double bytes = 0;  // Of all runs, as used.
  uint64_t wasted = 0, drafted = 0, accepted = 0;
};

class PositionsBench {
 public:
  PositionsBench(const PositionsBenchOptions& options, const text::DraftOptions& draft,
                 const BenchHooks& hooks)
      : options_(options), draft_(draft), hooks_(hooks) {}

  Result<PositionsResult> Run(const PipelineOptions& pipeline, const io::IoOptions& io_options) {
    PENSTOCK_TRY_VOID(Open(pipeline, io_options));
    PENSTOCK_TRY(texts_, MakeTexts(options_.texts, options_.tokens, engine_->vocab_size()));
    prompt_ = RandomIds(options_.prompt, engine_->vocab_size(), 5);
    rows_.resize(texts_.size() + 2);
    for (size_t i = 0; i < texts_.size(); ++i) {
      AddArm(texts_[i].name + ", none", totals_.size(), [this, i] { return Generate(i, false); });
      AddArm(texts_[i].name + ", drafts", totals_.size() - 1,
             [this, i] { return Generate(i, true); });
    }
    AddArm("serial", totals_.size(), [this] { return StepAlone(); });
    AddArm("prompt in chunks", totals_.size() - 1, [this] { return ReadPrompt(); });
    const CancelOnStop watch(hooks_, [this] { engine_->Cancel(); });
    PENSTOCK_TRY(const Measured measured,
                 MeasureAttempts(arms_, options_.repetitions, hooks_, "positions: measuring"));
    return MakeResult(measured);
  }

 private:
  Status Open(PipelineOptions pipeline, const io::IoOptions& io_options) {
    pipeline.positions = std::min<uint64_t>(text::PositionsFor(draft_), options_.tokens);
    pipeline.fewer_positions = !draft_.draft_max;
    pipeline.read_positions = options_.prefill_chunk.value_or(0);
    pipeline.prompt_positions = options_.prompt;
    const size_t context = std::max({options_.prompt + 1, 2 * options_.tokens, options_.steps + 2});
    PENSTOCK_TRY(const io::Pace pace, io::ParsePace(io_options.pace));
    pace_ = static_cast<double>(pace.bytes_per_second);
    PENSTOCK_TRY(engine_, OpenForBench(options_.model, context, pipeline, io_options, hooks_));
    return {};
  }

  void AddArm(std::string name, size_t beside, std::function<Result<double>()> run) {
    totals_.push_back({name, beside});
    arms_.push_back({std::move(name), [this, arm = totals_.size() - 1, run = std::move(run)] {
                       arm_ = &totals_[arm];
                       ++arm_->runs;
                       return run();
                     }});
  }

  // A run of given ids whose steps go to `on_step`: its rows are compared with those of the run
  // before. Answers the nanoseconds from the prompt's last step on.
  Result<double> Force(std::span<const text::TokenId> prompt, std::vector<text::TokenId> ids,
                       size_t kept, text::Drafting* drafting,
                       const std::function<Status(const text::StepRecord&)>& on_step) {
    std::vector<float>& rows = rows_[kept];
    const bool first = rows.empty();
    Status status;
    uint64_t start = 0;
    text::ForcedIds chooser(ids, prompt.size());
    text::GenerateOptions generate;
    generate.n = ids.size();
    generate.ignore_eos = true;
    generate.prefill_chunk = options_.prefill_chunk;
    const text::Generation generation =
        text::Generate(*engine_, prompt, chooser, {}, generate,
                       {.on_step =
                            [&](const text::StepRecord& step) {
                              if (step.prompt) start = NowNs(Clock::kWall);
                              if (status) status = on_step(step);
                            },
                        .on_token =
                            [&](const text::TokenRecord& token) {
                              if (status) status = Compare(token, ids[token.index], first, rows);
                              return status.has_value();
                            }},
                       {.drafting = drafting});
    const auto elapsed = static_cast<double>(NowNs(Clock::kWall) - start);
    if (!status) return status.error();
    if (generation.error) return *generation.error;
    return elapsed;
  }

  static Status Compare(const text::TokenRecord& token, text::TokenId id, bool first,
                        std::vector<float>& rows) {
    const size_t at = token.index * token.logits.size();
    if (first) rows.insert(rows.end(), token.logits.begin(), token.logits.end());
    if (token.id == id &&
        std::memcmp(rows.data() + at, token.logits.data(), token.logits.size_bytes()) == 0) {
      return {};
    }
    return Unsound(
        fmt::format("token {} of the same ids: expected id {} and the logits of the run "
                    "before, got id {} and others",
                    token.index, id, token.id));
  }

  Result<double> Generate(size_t text, bool drafts) {
    std::optional<text::Drafting> drafting = text::CreateDrafting(draft_, engine_->max_positions());
    const ForcedText& forced = texts_[text];
    arm_->positions = forced.ids.size() - 1;  // The prompt's last step chooses the first one.
    return Force(forced.prompt, forced.ids, text, drafts && drafting ? &*drafting : nullptr,
                 [this](const text::StepRecord& step) {
                   if (!step.prompt) Count(step);
                   return Status();
                 });
  }

  Result<double> StepAlone() {
    arm_->positions = options_.steps;
    double sum = 0;
    std::vector<text::TokenId> ids(prompt_.begin(), prompt_.begin() + 1);
    const std::vector<text::TokenId> rest = RandomIds(options_.steps + 2, engine_->vocab_size(), 6);
    size_t before = 0;
    PENSTOCK_TRY(const double all,
                 Force(ids, rest, texts_.size(), nullptr, [&](const text::StepRecord& step) {
                   // The last one may not read ahead.
                   if (++before < 2 || before > options_.steps + 1) {
                     return Status();
                   }
                   sum += static_cast<double>(step.elapsed_ns);
                   Count(step);
                   return Status();
                 }));
    static_cast<void>(all);
    return sum;
  }

  Result<double> ReadPrompt() {
    arm_->positions = prompt_.size();
    double sum = 0;
    chunks_ = {};
    chunks_.positions = options_.prefill_chunk.value_or(engine_->max_read_positions());
    chunks_.one_expert = engine_->experts().expert_bytes();
    PENSTOCK_TRY(const double all,
                 Force(prompt_, {0}, texts_.size() + 1, nullptr, [&](const text::StepRecord& step) {
                   sum += static_cast<double>(step.elapsed_ns);
                   Count(step);
                   return AddChunk(engine_->last_routes(), engine_->last_step(), chunks_);
                 }));
    static_cast<void>(all);
    return sum;
  }

  void Count(const text::StepRecord& step) {
    const StepStats& stats = engine_->last_step();
    arm_->bytes += static_cast<double>(stats.bytes());
    arm_->wasted += stats.predicted_wasted_bytes;
    arm_->drafted += step.drafted;
    arm_->accepted += step.accepted;
  }

  PositionsResult MakeResult(const Measured& measured) const {
    PositionsResult result{{}, chunks_, engine_->Describe(), measured.cpu_lost};
    for (size_t i = 0; i < totals_.size(); ++i) {
      const ArmTotals& arm = totals_[i];
      const Summary times = Summarize(measured.samples[i]);
      const auto positions = static_cast<double>(arm.positions);
      PositionsRow row;
      row.arm = arm.name;
      row.best = positions * 1e9 / times.best;
      row.median = positions * 1e9 / times.median;
      row.spread = times.spread;
      if (arm.beside != i) AddRatio(measured, i, row);
      row.drafted = arm.drafted / arm.runs;
      row.accepted = arm.accepted / arm.runs;
      row.bytes = arm.bytes / static_cast<double>(arm.runs) / positions;
      row.wasted = arm.wasted;
      if (pace_ > 0) row.bound = pace_ / row.bytes;
      result.rows.push_back(std::move(row));
    }
    return result;
  }

  // Of rates: the time of the arm beside it over its own, for as many positions.
  void AddRatio(const Measured& measured, size_t arm, PositionsRow& row) const {
    const size_t beside = totals_[arm].beside;
    std::vector<double> ratios = PairRatios(measured.samples[beside], measured.samples[arm]);
    const double scale = static_cast<double>(totals_[arm].positions) /
                         static_cast<double>(totals_[beside].positions);
    for (double& ratio : ratios) ratio *= scale;
    std::sort(ratios.begin(), ratios.end());
    row.ratio = Median(ratios);
    row.ratio_low = ratios[ratios.size() / 4];
    row.ratio_high = ratios[ratios.size() - 1 - ratios.size() / 4];
  }

  const PositionsBenchOptions& options_;
  const text::DraftOptions& draft_;
  const BenchHooks& hooks_;
  std::unique_ptr<Engine> engine_;
  std::vector<ForcedText> texts_;
  std::vector<text::TokenId> prompt_;
  std::vector<std::vector<float>> rows_;  // [texts, serial, prompt] logits of the first run.
  double pace_ = 0;
  std::vector<Attempt> arms_;
  std::vector<ArmTotals> totals_;  // [arms]
  ArmTotals* arm_ = nullptr;       // That runs.
  ChunkFigures chunks_;            // Of the last prompt.
};

}  // namespace

Result<PositionsResult> BenchPositions(const PositionsBenchOptions& options,
                                       const text::DraftOptions& draft,
                                       const PipelineOptions& pipeline,
                                       const io::IoOptions& io_options, const BenchHooks& hooks) {
  if (options.model.empty()) return Refused("expected a checkpoint's directory: -m DIR");
  return PositionsBench(options, draft, hooks).Run(pipeline, io_options);
}

}  // namespace penstock::k3
