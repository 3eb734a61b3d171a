#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "models/k3/commands/console.h"
#include "models/k3/commands/generate/cancellation.h"
#include "models/k3/commands/generate/options.h"
#include "models/k3/commands/generate/run_record.h"
#include "models/k3/commands/generate/run_totals.h"
#include "models/k3/commands/generate/saved/saved_run.h"
#include "models/k3/commands/generate/token_output.h"
#include "models/k3/commands/generate/verify.h"
#include "models/k3/engine.h"
#include "models/text/sampler.h"
#include "models/text/tokenizer.h"
#include "runtime/process/signals.h"

namespace penstock::k3 {

// One generation from its settings to its last record. Prepare refuses what cannot work, before any
// file is written; Execute generates. What was generated is flushed and recorded whatever happens.
class Run {
 public:
  // Borrows both.
  Run(GenerateSettings& settings, Console& console) : settings_(settings), console_(console) {}
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Status Prepare();
  Status Execute();

  // The signal (runtime/process/signals.h) that ended the run, else 0.
  int signal() const { return signals_ ? signals_->received() : 0; }

 private:
  Status ReadInputs();
  Status CreateChooser();
  Status ChoosePositions();
  Status OpenEngine();
  text::Generation Continue(text::GenerateOptions options);
  Status SaveState(const text::StateRef& state);
  void SaveAtEnd(const text::StateRef& state, std::optional<Error>& error);
  Status WriteTrace();
  Status WriteStart();
  std::optional<uint64_t> KernelBytesSince();
  void OnStep(const text::StepRecord& step);
  bool OnToken(const text::TokenRecord& token);
  Status TakeToken(const text::TokenRecord& token);
  bool Note(Status status);  // Keeps the first failure; false when there is one.
  Status Finish(text::Generation generation);
  std::optional<Error> HowItFailed(text::Generation& generation);
  Json EndFacts(const text::Generation& generation, const std::optional<Error>& error) const;
  void Report(const text::Generation& generation);

  GenerateSettings& settings_;
  Console& console_;
  Config config_;
  std::optional<text::Tokenizer> tokenizer_;
  std::optional<SavedRun> saved_;
  std::vector<text::TokenId> prompt_;  // What is consumed before the first choice.
  uint64_t context_ = 0;
  std::optional<text::Sampler> sampler_;
  std::unique_ptr<text::Chooser> chooser_;  // The sampler, or the ids that are given.
  std::optional<text::Drafting> drafting_;
  std::optional<Verification> verification_;
  std::optional<TokenOutput> output_;
  std::optional<RunRecord> record_;
  std::atomic<bool> started_{false};  // record_ may be used by another thread.
  RunTotals totals_;
  text::Score score_;          // Of what was emitted, with --force-ids.
  uint64_t kernel_bytes_ = 0;  // At the end of the last step, since boot,
  uint64_t kernel_total_ = 0;  // and of all steps.
  Status failure_;             // Of what the callbacks do: writing, verifying.
  TraceSteps trace_steps_;
  std::unique_ptr<StepTrace> trace_;  // Outlives the engine, which tells it.
  Cancellation cancellation_;
  std::unique_ptr<StopSignals> signals_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace penstock::k3
