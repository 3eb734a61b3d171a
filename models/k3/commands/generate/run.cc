#include "models/k3/commands/generate/run.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "io/device_stats.h"
#include "models/k3/commands/generate/figures_record.h"
#include "models/k3/commands/generate/prompt.h"
#include "models/k3/commands/version.h"
#include "models/text/choose/forced_ids.h"
#include "models/text/token_ids.h"
#include "runtime/machine/facts.h"
#include "runtime/process/process.h"
#include "runtime/size.h"

namespace penstock::k3 {
namespace {

uint64_t ResidentBytes() {
  const auto memory = ReadProcessMemory();
  return memory ? memory->rss_bytes : 0;
}

uint64_t PeakResidentBytes() {
  const auto memory = ReadProcessMemory();
  return memory ? memory->peak_rss_bytes : 0;
}

}  // namespace

Run::~Run() {
  cancellation_.Attach(nullptr);
  engine_.reset();
}

Status Run::Prepare() {
  PENSTOCK_TRY_VOID(ReadInputs());
  // The signals come before the first thread, which inherits that they are blocked.
  PENSTOCK_TRY(signals_, StopSignals::Start({.on_stop = [this](int) { cancellation_.Request(); },
                                             .on_give_up =
                                                 [this] {
                                                   if (started_) record_->GiveUp();
                                                 }}));
  PENSTOCK_TRY_VOID(OpenEngine());
  PENSTOCK_TRY_VOID(saved_->Restore(*engine_));
  PENSTOCK_TRY(record_, RunRecord::Create(settings_.run));
  return {};
}

Status Run::ReadInputs() {
  const RunOptions& options = settings_.run;
  if (options.model.empty()) return Refused("expected a checkpoint's directory: -m DIR");
  std::vector<std::string> weights = {options.model};
  if (!settings_.pipeline.pack.empty()) weights.push_back(settings_.pipeline.pack);
  PENSTOCK_TRY_VOID(RunRecord::CheckPaths(options, weights, settings_.state));
  PENSTOCK_TRY(config_, ReadConfig(options.model));
  const bool more = !settings_.state.load_state.empty() && options.prompt.empty() &&
                    options.file.empty() && options.ids.empty();  // Without a prompt.
  const bool need_text = (options.ids.empty() && !more) || options.output == "text";
  PENSTOCK_TRY(tokenizer_,
               FindTokenizer(options.model, config_.shape.vocab, need_text, console_.notice()));
  if (!more) {
    PENSTOCK_TRY(prompt_, ReadPrompt(options, tokenizer_));
  }
  PENSTOCK_TRY(saved_, SavedRun::Open(settings_, config_, prompt_, console_.notice()));
  prompt_.assign(saved_->pending().begin(), saved_->pending().end());
  PENSTOCK_TRY_VOID(CheckPrompt(prompt_, config_.shape));
  PENSTOCK_TRY_VOID(CreateChooser());
  PENSTOCK_TRY_VOID(ChoosePositions());
  PENSTOCK_TRY(const OutputKind kind, ChooseOutput(options.output, tokenizer_.has_value(),
                                                   !settings_.run.force_ids.empty()));
  PENSTOCK_TRY(trace_steps_,
               ParseTraceSteps(options.trace_steps, prompt_.size() + *settings_.generate.n - 1));
  if (!options.trace_steps.empty() && options.trace.empty()) {
    return Refused("--trace-steps is for a trace: expected --trace FILE");
  }
  output_.emplace(kind, console_, tokenizer_ ? &*tokenizer_ : nullptr);
  if (!options.verify_against.empty()) {
    PENSTOCK_TRY(verification_, Verification::Read(options.verify_against));
  }
  return {};
}

Status Run::CreateChooser() {
  const size_t begin = saved_->prompt().size();
  PENSTOCK_TRY(sampler_, text::Sampler::Create(settings_.sampling));
  if (settings_.run.force_ids.empty()) {
    chooser_ = std::make_unique<text::SampledIds>(*sampler_);
  } else {
    PENSTOCK_TRY(std::vector<text::TokenId> ids, text::ReadIds(settings_.run.force_ids));
    PENSTOCK_TRY_VOID(saved_->CheckForced(ids));
    if (ids.empty()) {
      return Refused(
          fmt::format("{}: expected at least one token id, got none", settings_.run.force_ids));
    }
    chooser_ = std::make_unique<text::ForcedIds>(std::move(ids), begin);
  }
  settings_.generate.n = text::MostIds(settings_.generate, *chooser_);
  PENSTOCK_TRY_VOID(saved_->CheckCount(*settings_.generate.n));
  if (*settings_.generate.n == 0 && saved_->wanted()) {
    return Refused("--save-state: expected -n 1 at least, got -n 0, which takes no step");
  }
  return chooser_->Check(begin, config_.shape.vocab);
}

// What one pass over the weights may advance: a token and its draft, or a chunk of the prompt.
Status Run::ChoosePositions() {
  PENSTOCK_TRY(context_, ChooseContext(saved_->prompt().size(), *settings_.generate.n,
                                       settings_.generate.context, config_.shape));
  settings_.pipeline.positions =
      std::clamp<uint64_t>(context_, 1, text::PositionsFor(settings_.draft));
  settings_.pipeline.fewer_positions = !settings_.draft.draft_max;
  settings_.pipeline.prompt_positions = prompt_.size();
  settings_.pipeline.read_positions =
      std::min<uint64_t>(settings_.generate.prefill_chunk.value_or(0), prompt_.size());
  drafting_ = text::CreateDrafting(settings_.draft, settings_.pipeline.positions);
  return {};
}

Status Run::OpenEngine() {
  const Notice notice = console_.notice();
  std::string shown;
  auto engine =
      Engine::Open(settings_.run.model, context_, settings_.pipeline, settings_.io, notice, nullptr,
                   [&](std::string_view what, uint64_t done, uint64_t total) {
                     if (shown != what) {
                       console_.EndProgress();
                       shown = what;
                       console_.StartProgress("MiB of " + shown, total / kMiB);
                     }
                     console_.Advance(done / kMiB, "");
                     return !cancellation_.requested();
                   });
  if (!shown.empty()) console_.EndProgress();
  PENSTOCK_TRY(engine_, std::move(engine));
  cancellation_.Attach(engine_.get());
  if (!settings_.run.trace.empty()) {
    trace_ = std::make_unique<StepTrace>(engine_->Traced(), trace_steps_);
    engine_->Observe(trace_.get());
  }
  if (verification_ && !verification_->checkpoint_id().empty() &&
      verification_->checkpoint_id() != engine_->checkpoint_id()) {
    console_.Say(fmt::format("the run to verify against used another checkpoint ({}, this is {})",
                             verification_->checkpoint_id(), engine_->checkpoint_id()));
  }
  return {};
}

Status Run::Execute() {
  if (Status started = WriteStart(); !started) return started;
  text::GenerateOptions options = settings_.generate;
  options.context = context_;
  const auto ended = saved_->Replay(options, config_.eos, [this](const text::TokenRecord& token) {
    totals_.CountToken();
    return Note(TakeToken(token)) && !cancellation_.requested();
  });
  if (!ended) return Finish(Continue(options));
  text::Generation generation;
  generation.stop = *ended;
  generation.state = saved_->TakeState();
  generation.score = score_;
  return Finish(std::move(generation));
}

text::Generation Run::Continue(text::GenerateOptions options) {
  console_.StartProgress("prompt tokens", prompt_.size());
  *options.n -= saved_->replayed().size();
  if (drafting_) drafting_->drafter->Append(saved_->consumed());
  text::Generation generation =
      text::Generate(*engine_, prompt_, *chooser_, config_.eos, options,
                     {.on_step = [this](const text::StepRecord& step) { OnStep(step); },
                      .on_token =
                          [this](text::TokenRecord token) {
                            token.index += saved_->replayed().size();
                            return OnToken(token);
                          }},
                     {.drafting = drafting_ ? &*drafting_ : nullptr, .state = saved_->TakeState()});
  console_.EndProgress();
  generation.score = score_;  // Of those before it too.
  return generation;
}

Status Run::WriteStart() {
  started_ = true;
  if (record_->wants_routes()) {
    engine_->PredictAlways(true);
    PENSTOCK_TRY_VOID(record_->StartRoutes(engine_->routes_header()));
  }
  (void)KernelBytesSince();
  kernel_total_ = 0;
  return record_->Start({{"version", kVersion},
                         {"config", settings_.Rows().ToJson()},
                         {"checkpoint_id", engine_->checkpoint_id()},
                         {"label", FidelityLabel(config_.shape, drafting_.has_value())},
                         {"machine", ToJson(ReadMachineFacts(settings_.run.model))},
                         {"engine", engine_->Describe()},
                         {"context", context_},
                         {"start", saved_->consumed().size()},
                         {"replayed", saved_->replayed().size()},
                         {"prompt_ids", saved_->prompt()}});
}

// Of all devices below the files; nothing where the kernel names none.
std::optional<uint64_t> Run::KernelBytesSince() {
  std::optional<uint64_t> now;
  for (const auto& bytes : engine_->reader().KernelDeviceBytes()) {
    if (bytes) now = now.value_or(0) + *bytes;
  }
  if (!now) return std::nullopt;
  const uint64_t since = *now - std::exchange(kernel_bytes_, *now);
  kernel_total_ += since;
  return since;
}

bool Run::Note(Status status) {
  if (!status && failure_) failure_ = std::move(status);
  return failure_.has_value();
}

void Run::OnStep(const text::StepRecord& step) {
  totals_.Add(step, engine_->last_step());
  Note(record_->Step(step, engine_->last_step(), ResidentBytes(), KernelBytesSince()));
  if (record_->wants_routes()) Note(record_->Routes(engine_->last_routes()));
  if (step.prompt) {
    console_.Advance(step.begin + step.positions - saved_->consumed().size(), "");
  }
}

bool Run::OnToken(const text::TokenRecord& token) {
  if (token.index == saved_->replayed().size()) {
    console_.StartProgress("tokens", *settings_.generate.n);
  }
  totals_.CountToken();
  console_.Advance(totals_.tokens(), "");
  saved_->Append(token);
  bool go_on = Note(TakeToken(token));
  if (go_on && saved_->IsDue(token.index)) go_on = Note(SaveState(token.state));
  return go_on && !cancellation_.requested();
}

Status Run::SaveState(const text::StateRef& state) {
  if (!saved_->wanted()) return {};
  const StopSignals::Respite respite(*signals_);  // Of released shapes it takes seconds.
  PENSTOCK_TRY(const Json facts, saved_->Save(*engine_, state));
  return facts.is_null() ? Status() : record_->StateSaved(facts);
}

// The last state, unless something says that it is not sound.
void Run::SaveAtEnd(const text::StateRef& state, std::optional<Error>& error) {
  if (error && (error->code == ErrorCode::kUnsound || error->code == ErrorCode::kRefused)) return;
  const Status saved = SaveState(state);
  if (saved) return;
  if (error) {
    console_.Say(saved.error().message);
  } else {
    error = saved.error();
  }
}

Status Run::TakeToken(const text::TokenRecord& token) {
  if (token.log_probability) score_.Add(*token.log_probability);
  if (verification_) {
    if (Status verified = verification_->Check(token.index, token.id); !verified) {
      // Recorded, so that both runs can be compared, but not printed.
      (void)record_->Token(token, "").has_value();  // A difference weighs more than a full disk.
      return verified;
    }
  }
  PENSTOCK_TRY_VOID(output_->Push(token, token.eos && !settings_.generate.ignore_eos));
  return record_->Token(token, output_->text());
}

std::optional<Error> Run::HowItFailed(text::Generation& generation) {
  if (!failure_) return std::move(failure_).error();
  if (generation.error && generation.error->code != ErrorCode::kCancelled) {
    return std::move(generation.error);
  }
  if (cancellation_.requested() && generation.stop != text::StopReason::kEos &&
      generation.stop != text::StopReason::kLength) {
    return Cancelled("stopped by a signal");
  }
  return std::move(generation.error);
}

Status Run::Finish(text::Generation generation) {
  std::optional<Error> error = HowItFailed(generation);
  SaveAtEnd(generation.state, error);
  if (!error && record_->wants_graph()) {
    if (Status drawn = record_->Graph(engine_->GraphDot(true)); !drawn) error = drawn.error();
  }
  if (trace_) {
    const Status traced = WriteTrace();
    if (!error && !traced) error = traced.error();
  }
  const Json facts = EndFacts(generation, error);
  const Status printed = output_->Finish(facts);
  if (!error && !printed) error = printed.error();
  started_ = false;  // A second signal must not write a last word behind the last record.
  const Status recorded = error ? record_->Fail(*error, facts) : record_->End(facts);
  if (!error && !recorded) error = recorded.error();
  Report(generation);
  if (error) return std::move(*error);
  return {};
}

Status Run::WriteTrace() {
  engine_->Observe(nullptr);
  const Trace& trace = trace_->trace();
  if (trace.dropped() > 0) {
    console_.Say(
        fmt::format("--trace: {} events found no place behind {}; choose fewer "
                    "--trace-steps",
                    trace.dropped(), trace.size()));
  }
  return record_->Trace(trace);
}

Json Run::EndFacts(const text::Generation& generation, const std::optional<Error>& error) const {
  Json facts = {{"stop", error ? ErrorName(error->code) : text::StopReasonName(generation.stop)}};
  facts.update(totals_.ToJson());
  if (generation.score.ids() > 0) {
    facts["score"] = {{"ids", generation.score.ids()},
                      {"log_probability", generation.score.log_probability()},
                      {"perplexity", *generation.score.perplexity()}};
  }
  if (drafting_) facts["drafting"] = drafting_->economics.Summary();
  facts["peak_rss"] = PeakResidentBytes();
  if (error && error->code == ErrorCode::kCancelled && signal() != 0) {
    facts["exit"] = 128 + signal();
  }
  facts["label"] = FidelityLabel(config_.shape, drafting_.has_value());
  facts["checkpoint_id"] = engine_->checkpoint_id();
  if (saved_->wanted()) facts["saves"] = saved_->saves();
  if (verification_)
    facts["verified"] = std::min<uint64_t>(totals_.tokens(), verification_->size());
  return facts;
}

void Run::Report(const text::Generation& generation) {
  console_.Say(totals_.Summary());
  if (const auto perplexity = generation.score.perplexity()) {
    console_.Say(
        fmt::format("perplexity {:.6g} over {} of {} ids, log-probability {:.6f}; stop: {}",
                    *perplexity, generation.score.ids(), chooser_->most(),
                    generation.score.log_probability(), text::StopReasonName(generation.stop)));
  }
  console_.Say(FidelityLabel(config_.shape, drafting_.has_value()));
  if (verification_ && failure_) {
    console_.Say(fmt::format("verified {} of {} recorded tokens",
                             std::min<uint64_t>(totals_.tokens(), verification_->size()),
                             verification_->size()));
  }
  if (!settings_.run.stats) return;
  console_.SayPlain(engine_->PlanTable());
  console_.SayPlain(fmt::format("{}\n", engine_->Describe()));
  console_.SayPlain(totals_.Table(PeakResidentBytes()));
  if (drafting_) {
    console_.SayPlain(FigureRow("drafting", drafting_->economics.Summary()));
  }
  if (saved_->saves() > 0) console_.SayPlain(FigureRow("state saved", saved_->Summary()));
  console_.SayPlain(PredictionTable(engine_->prediction_stats()));
  if (kernel_bytes_ != 0) {
    std::vector<std::string> names;
    for (const io::DeviceStats& device : engine_->reader().devices()) names.push_back(device.name);
    console_.SayPlain(fmt::format("  {:<22}{} read by all processes while the steps ran\n",
                                  fmt::join(names, ", "), DescribeSize(kernel_total_)));
  }
}

}  // namespace penstock::k3
