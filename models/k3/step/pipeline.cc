#include "models/k3/step/pipeline.h"

#include <algorithm>
#include <optional>

#include "models/k3/layers/kda.h"
#include "models/k3/layers/mla.h"
#include "models/k3/layers/moe.h"
#include "models/k3/layers/operands.h"
#include "models/k3/layers/residual.h"
#include "runtime/check.h"

namespace penstock::k3 {
namespace {

constexpr size_t kWide = 0;  // As many bodies as the arena has threads.
constexpr size_t kSerial = 1;

// A body that cannot fail, as a body that can.
template <void (*body)(Context&)>
Status Always(Context& context) {
  body(context);
  return {};
}

Status MixSublayer(Context& context) {
  if (context.layer == context.shape.layers) {
    MixBeforeHead(context);
  } else if (context.phase == Phase::kAttention) {
    MixBeforeAttention(context);
  } else {
    MixBeforeMlp(context);
  }
  return {};
}

Status ActivateLayer(Context& context) {
  const bool moe = context.shape.IsMoe(context.layer);
  ActivateMlp(context, moe ? context.shape.shared_width() : context.shape.dense_width);
  return {};
}

Status CombineSublayer(Context& context) {
  if (context.phase == Phase::kMlp && context.shape.IsMoe(context.layer)) AddShared(context);
  return Combine(context);
}

}  // namespace

Pipeline::Pipeline(const Services& services)
    : s_(services),
      context_(services.context),
      flow_(services.pass, services.context.shape),
      meeting_(services.pass, services.stream, kBlockBytes),
      lookahead_(services.context, services.experts, services.stream, services.lookahead),
      meter_({services.reader, services.stream, services.experts, services.decoders,
              services.decode, services.arena.threads()},
             idle_),
      graph_(services.arena),
      admit_(graph_, "admit", kSerial, [this](Wake, auto& out) { Admit(out); }),
      read_(graph_, "read", [this](const Extent& extent, auto reply) { Read(extent, reply); }),
      meet_(graph_, "meet", kSerial, [this](const Arrival& a, auto& out) { Meet(a, out); }),
      product_(graph_, "product", kWide, [this](const Block& b, auto& out) { Multiply(b, out); }),
      predict_(graph_, "predict", kSerial, [this](const Glimpse& g, auto&) { Predict(g); }),
      attend_(graph_, "attend", kWide, [this](const Block& b, auto& out) { Attend(b, out); }),
      embed_row_(graph_, "embed", [this](const Token& t, auto reply) { ReadRow(t, reply); }),
      advance_(graph_, "advance", kSerial, [this](const Done& d, auto& out) { Advance(d, out); }),
      mix_(Small("mix", Event::kMixed, MixSublayer)),
      kda_(graph_, "kda", kWide, [this](const Heads& heads, auto& out) { RunHeads(heads, out); }),
      norm_query_(Small("norm query", Event::kQueryNormed, Always<NormQuery>)),
      append_latent_(Small("append latent", Event::kLatentAppended, AppendLatent)),
      gate_(Small("gate", Event::kGated, Always<GateAttended>)),
      activate_(Small("activate", Event::kActivated, ActivateLayer)),
      choose_(Small("choose experts", Event::kChosen, ChooseExperts)),
      prepare_latent_(Small("prepare latent", Event::kLatentPrepared, Always<PrepareLatent>)),
      credits_(graph_, "cache slots", services.experts.demand_slots()),
      fetch_(graph_, "fetch expert", [this](const Wanted& w, auto reply) { Fetch(w, reply); }),
      expert_(graph_, "expert", kWide, [this](const ReadyExpert& e, auto& out) { Apply(e, out); }),
      gather_(Small("gather", Event::kGathered, Always<GatherExperts>)),
      combine_(Small("combine", Event::kCombined, CombineSublayer)),
      commit_(graph_, "commit", kSerial, [this](Go, auto&) { Commit(); }) {
  for (size_t t = 0; t < context_.act.positions; ++t) {
    for (uint32_t layer = 0; layer < context_.shape.layers; ++layer) {
      if (context_.shape.IsMoe(layer)) routes_.push_back({0, 0, layer, {}, {}});
    }
  }
  Connect();
  meter_.Watch(graph_.picture());
  s_.reader.Observe([this](const io::ReadSpan& read) { OnRead(read); });
  s_.ring.OnFree([this] { WakeAdmission(); });
  s_.experts.OnRelease([this] { credits_.Return(); });
  WakeAdmission();
}

void Pipeline::Connect() {
  graph::Connect(admit_, read_, "place in the ring");
  if (s_.decode != nullptr) {
    decode_.emplace(graph_, "decode", [this](const Arrival& a, auto reply) { Decode(a, reply); });
    graph::Connect(read_, *decode_, "stripe");
    graph::Connect(*decode_, meet_, "extent");
  } else {
    graph::Connect(read_, meet_, "extent");
  }
  graph::Connect<0>(meet_, product_, "row blocks");
  graph::Connect<1>(meet_, attend_, "rows of kv_b");
  graph::Connect<2>(meet_, expert_, "expert and its input");
  graph::Connect<3>(meet_, predict_, "router of the layer to come");
  graph::Connect(embed_row_, advance_, "row");
  graph::Connect<kToMeet>(advance_, meet_, "input ready");
  graph::Connect<kToMix>(advance_, mix_);
  graph::Connect<kToKda>(advance_, kda_, "heads");
  graph::Connect<kToNormQuery>(advance_, norm_query_);
  graph::Connect<kToAppend>(advance_, append_latent_);
  graph::Connect<kToGate>(advance_, gate_);
  graph::Connect<kToActivate>(advance_, activate_);
  graph::Connect<kToChoose>(advance_, choose_);
  graph::Connect<kToPrepare>(advance_, prepare_latent_);
  graph::Connect<kToCredits>(advance_, credits_, "wanted");
  graph::Connect(credits_, fetch_);
  graph::Connect(fetch_, meet_, "expert");
  graph::Connect<kToGather>(advance_, gather_);
  graph::Connect<kToCombine>(advance_, combine_);
  graph::Connect<kToCommit>(advance_, commit_, "logits");
  for (BlockStage* stage : {&product_, &attend_}) graph::Connect(*stage, advance_, "done");
  graph::Connect(kda_, advance_, "done");
  graph::Connect(expert_, advance_, "done");
  for (SmallStage* stage : {&mix_, &norm_query_, &append_latent_, &gate_, &activate_, &choose_,
                            &prepare_latent_, &gather_, &combine_}) {
    graph::Connect(*stage, advance_, "done");
    stage->facts().arithmetic = true;
  }
  for (graph::NodeFacts* facts :
       {&product_.facts(), &attend_.facts(), &kda_.facts(), &expert_.facts(), &commit_.facts()}) {
    facts->arithmetic = true;
  }
}

Pipeline::SmallStage Pipeline::Small(const char* name, Event event, Status (*body)(Context&)) {
  return SmallStage(graph_, name, kSerial, [this, event, body](Go, SmallStage::Outputs& out) {
    if (Over()) return;
    idle_.Enter(kOnGraph);
    const Status status = body(context_);
    idle_.Leave();
    if (!Failed(status)) out.Put<0>(Done{event, 0, 0});
  });
}

Pipeline::~Pipeline() {
  PauseWeights();
  graph_.outcome().Fail(Cancelled("the pipeline is shut down"));
  EndPredictions();
  // Every reply comes, and nothing runs on an I/O thread any more: only then may the graph go, and
  // before it the ring's and the cache's way back into it is used for the last time.
  s_.reader.Stop();
  s_.reader.Observe({});
  graph_.WaitIdle();
  meeting_.Reset();
  s_.stream.Drop();
  graph_.WaitIdle();
  s_.ring.OnFree({});
  if (s_.decoded_ring != nullptr) s_.decoded_ring->OnFree({});
  s_.experts.OnRelease({});
}

bool Pipeline::Failed(const Status& status) {
  if (status) return false;
  graph_.outcome().Fail(status.error());
  return true;
}

// --- weights ---

void Pipeline::WakeAdmission() {
  if (!wake_pending_.exchange(true)) admit_.Put(Wake{});
}

void Pipeline::Admit(AdmitStage::Outputs& out) {
  wake_pending_.store(false);
  s_.stream.Admit([&out](uint32_t extent) { out.Put<0>(Extent{extent}); });
}

void Pipeline::Read(const Extent& extent, graph::Reply<Arrival> reply) {
  s_.stream.Read(extent.number, [number = extent.number, reply] {
    Arrival arrival;
    arrival.number = number;
    reply(arrival);
  });
}

void Pipeline::Decode(const Arrival& stripe, graph::Reply<Arrival> reply) {
  s_.decode->Decode(stripe.number, [stripe, reply] { reply(stripe); });
}

// Nothing more is admitted, and what waits to be decoded is answered.
void Pipeline::PauseWeights() {
  s_.stream.Pause(true);
  if (s_.decode != nullptr) s_.decode->Pause();
}

void Pipeline::Fetch(const Wanted& wanted, graph::Reply<Arrival> reply) {
  Arrival arrival;
  arrival.kind = Arrival::Kind::kExpert;
  arrival.expert.visit = Visit(wanted.attempt, wanted.layer);
  arrival.expert.index = wanted.index;
  // Left over from a step that has ended: nothing is read, no slot is taken.
  if (Over() || wanted.attempt != attempt_.load()) {
    credits_.Return();
    arrival.failed = true;
    return reply(std::move(arrival));
  }
  s_.experts.Demand(wanted.layer, wanted.expert,
                    [this, arrival, reply](Result<ExpertWeights> weights) mutable {
                      if (weights) {
                        arrival.expert.weights = std::move(weights).value();
                      } else {
                        arrival.failed = true;
                        graph_.outcome().Fail(weights.error());
                      }
                      reply(std::move(arrival));
                    });
}

void Pipeline::Meet(const Arrival& arrival, MeetStage::Outputs& out) {
  if (arrival.failed) return;
  met_blocks_.clear();
  met_experts_.clear();
  if (arrival.kind == Arrival::Kind::kLookahead) return MeetLookahead(arrival, out);
  Status status;
  switch (arrival.kind) {
    case Arrival::Kind::kExtent:
      status = meeting_.Arrived(arrival.number, met_blocks_);
      break;
    case Arrival::Kind::kProductInput:
      status = meeting_.InputReady(arrival.number, met_blocks_);
      break;
    case Arrival::Kind::kExpert:
      if (!Over()) meeting_.Arrived(arrival.expert, met_experts_);
      break;
    case Arrival::Kind::kExpertInput:
      meeting_.LatentReady(arrival.expert.visit, met_experts_);
      break;
    case Arrival::Kind::kStepOver:
      meeting_.DropExperts();
      break;
    case Arrival::Kind::kLookahead:
      break;
  }
  Failed(status);
  for (Block& block : met_blocks_) {
    block.late = arrival.kind == Arrival::Kind::kExtent;
    const Product& product = s_.pass.ProductOf(s_.pass.extents()[block.extent]);
    if (product.role == Role::kMlaKvB) {
      out.Put<1>(block);
    } else {
      out.Put<0>(block);
    }
  }
  for (ReadyExpert& expert : met_experts_) {
    expert.late = arrival.kind == Arrival::Kind::kExpert;
    out.Put<2>(expert);
  }
  met_blocks_.clear();  // The scratch must not hold references.
  met_experts_.clear();
}

// The router's bytes are looked at where they would be taken, so that they cannot go meanwhile.
void Pipeline::MeetLookahead(const Arrival& arrival, MeetStage::Outputs& out) {
  Glimpse glimpse{arrival.expert.visit, arrival.step, arrival.number, arrival.router, false, {}};
  if (arrival.router && !Over()) {
    meeting_.Peek(s_.pass.Find(arrival.number, Role::kRouter), met_blocks_);
  }
  for (const Block& block : met_blocks_) {
    glimpse.block = block;
    out.Put<3>(glimpse);
  }
  met_blocks_.clear();
  glimpse.block = Block();
  glimpse.last = true;
  out.Put<3>(glimpse);
}

// --- what becomes possible ---

void Pipeline::Advance(Done done, AdvanceStage::Outputs& out) {
  const graph::Outcome::Claim claim(graph_.outcome());  // The version before may be changed.
  if (!claim || done.index == kNone) return;
  if (done.event == Event::kChosen) done.rows = static_cast<uint32_t>(context_.experts.size());
  next_.clear();
  flow_.Advance(done, next_);
  if (done.event == Event::kKdaHeads && !next_.empty()) EndKda(context_);
  const bool begins = done.event == Event::kEmbedded && !next_.empty();
  if (begins || flow_.layer() != context_.layer) {
    EnterLayer();
    LookAhead(out);
  }
  context_.phase = flow_.phase();
  if (done.event == Event::kChosen) NoteRoutes();
  for (const Next& next : next_) Dispatch(next, out);
}

void Pipeline::EnterLayer() {
  context_.layer = flow_.layer();
  context_.kda_ordinal = context_.mla_ordinal = context_.moe_ordinal = 0;
  for (size_t layer = 0; layer < context_.layer; ++layer) {
    ++(context_.shape.IsKda(layer) ? context_.kda_ordinal : context_.mla_ordinal);
    if (context_.shape.IsMoe(layer)) ++context_.moe_ordinal;
  }
  s_.stream.Reach(context_.step, context_.layer);
  WakeAdmission();
}

// Before the layer's first stage is started: the stream is read as it stands.
void Pipeline::LookAhead(AdvanceStage::Outputs& out) {
  const Lookahead::Wanted wanted = lookahead_.Enter();
  if (wanted == Lookahead::Wanted::kNothing) return;
  Arrival arrival;
  arrival.kind = Arrival::Kind::kLookahead;
  arrival.number = static_cast<uint32_t>(context_.layer);
  arrival.expert.visit = Visit(context_.attempt, context_.layer);
  arrival.step = context_.step;
  arrival.router = wanted == Lookahead::Wanted::kRouter;
  out.Put<kToMeet>(arrival);
}

void Pipeline::EndPredictions() {
  s_.experts.SettleAll(Visit(context_.attempt, context_.shape.layers));
}

void Pipeline::NoteRoutes() {
  for (size_t t = 0; t < context_.positions; ++t) {
    Route& route = routes_[t * context_.shape.moe_layers() + context_.moe_ordinal];
    const uint32_t* const chosen = context_.act.chosen[t];
    route.n = context_.step;
    route.position = context_.before->position() + t;
    route.chosen.assign(chosen, chosen + context_.shape.top_k);
    route.next.clear();
    if (t + 1 < context_.positions) continue;
    lookahead_.Chosen(Visit(context_.attempt, context_.layer), route.next);
  }
}

void Pipeline::Dispatch(const Next& next, AdvanceStage::Outputs& out) {
  const Go go{static_cast<uint32_t>(context_.layer)};
  Arrival arrival;
  switch (next.action) {
    case Action::kMultiply:
      arrival.kind = Arrival::Kind::kProductInput;
      arrival.number = next.index;
      return out.Put<kToMeet>(arrival);
    case Action::kApplyExperts:
      arrival.kind = Arrival::Kind::kExpertInput;
      arrival.expert.visit = Visit(context_.attempt, context_.layer);
      return out.Put<kToMeet>(arrival);
    case Action::kWantExpert:
      return out.Put<kToCredits>(Wanted{context_.attempt, static_cast<uint32_t>(context_.layer),
                                        next.index, context_.experts[next.index].expert});
    case Action::kKda:
      return SendHeads(out);
    case Action::kMix:
      return out.Put<kToMix>(go);
    case Action::kNormQuery:
      return out.Put<kToNormQuery>(go);
    case Action::kAppendLatent:
      return out.Put<kToAppend>(go);
    case Action::kGate:
      return out.Put<kToGate>(go);
    case Action::kActivate:
      return out.Put<kToActivate>(go);
    case Action::kChoose:
      return out.Put<kToChoose>(go);
    case Action::kPrepare:
      return out.Put<kToPrepare>(go);
    case Action::kGather:
      return out.Put<kToGather>(go);
    case Action::kCombine:
      return out.Put<kToCombine>(go);
    case Action::kCommit:
      return out.Put<kToCommit>(go);
  }
}

// Heads in pieces: enough of them that no thread waits long for the last one.
void Pipeline::SendHeads(AdvanceStage::Outputs& out) {
  if (Failed(BeginKda(context_))) return;
  const auto heads = static_cast<uint32_t>(context_.shape.kda_heads);
  const uint32_t each =
      std::max<uint32_t>(1, heads / (4 * static_cast<uint32_t>(s_.arena.threads())));
  for (uint32_t head = 0; head < heads; head += each) {
    out.Put<kToKda>(
        Heads{head, std::min(each, heads - head), static_cast<uint32_t>(context_.layer)});
  }
}

void Pipeline::Commit() {
  if (Over()) return;
  idle_.Enter(kOnGraph);
  const bool finite =
      context_.kernels.all_finite(context_.act.logits[0], used_rows_ * context_.shape.vocab);
  idle_.Leave();
  if (!finite) {
    const std::string where = "the head, step " + std::to_string(context_.step);
    return graph_.outcome().Fail(Unsound("the logits of " + where + " are not finite", where));
  }
  graph_.outcome().Finish();
}

// --- a step ---

void Pipeline::BeginStep(std::shared_ptr<const SequenceState> before, size_t positions,
                         text::StepOutput output) {
  // A single position needs a log entry, or a copy of its bases: the entry is smaller.
  const bool last_only = output != text::StepOutput::kAll && positions > 1;
  context_.log = context_.store.Begin(*before, positions, last_only);
  context_.first_logits = last_only ? positions - 1 : 0;
  used_rows_ = output == text::StepOutput::kState ? 0 : positions - context_.first_logits;
  context_.before = std::move(before);
  context_.positions = positions;
  attempt_.store(++context_.attempt);
  context_.residual_blocks = 0;
  context_.acc_empty = false;
  context_.layer = 0;
  context_.phase = Phase::kAttention;
  flow_.Begin(positions);
  if (StepObserver* const observer = observer_.load()) observer->StepBegins(context_.step);
  meter_.Begin();
  idle_.Begin();
}

// After a step that did not end well: once nothing is in flight, what it left goes, and the weights
// begin again with the first extent.
void Pipeline::Recover() {
  PauseWeights();
  graph_.WaitIdle();
  // Gives back bytes of the ring, and the slots of experts that wait with their credits: demands
  // that queued for those come through now and find the step over, and admission finds itself
  // paused.
  meeting_.Reset();
  s_.stream.Drop();
  graph_.WaitIdle();
  context_.kda_visit = {};
  context_.log.reset();
  context_.before.reset();
  s_.stream.Restart(context_.step);
  if (s_.decode != nullptr) s_.decode->Restart();
  s_.stream.Pause(false);
  recover_ = false;
}

Traffic Pipeline::EmbedTraffic(std::span<const text::TokenId> tokens) const {
  Traffic traffic;
  for (const text::TokenId id : tokens) {
    const io::Extent row = EmbedRow(id);
    traffic.Add({row.bytes, s_.reader.BufferBytes(row), 1});
  }
  return traffic;
}

Result<std::vector<std::shared_ptr<const SequenceState>>> Pipeline::Step(
    std::shared_ptr<const SequenceState> before, std::span<const text::TokenId> tokens,
    text::StepOutput output) {
  PENSTOCK_CHECK(!tokens.empty() && tokens.size() <= context_.act.positions);
  if (recover_) Recover();
  BeginStep(std::move(before), tokens.size(), output);
  graph_.outcome().Begin();
  if (cancel_.exchange(false)) graph_.outcome().Fail(Cancelled("cancelled"));
  s_.stream.Reach(context_.step, 0);
  s_.stream.Allow(context_.step + (more_.load() ? 1 : 0));
  WakeAdmission();
  for (size_t t = 0; t < tokens.size(); ++t) embed_row_.Put(Token{t, tokens[t]});
  const Status status = graph_.outcome().Wait();
  EndPredictions();
  if (!status) {
    if (status.error().code == ErrorCode::kCancelled) cancel_.store(false);
    recover_ = true;
    Arrival over;
    over.kind = Arrival::Kind::kStepOver;
    meet_.Put(over);  // Their slots go back now, not when somebody takes another step.
    return status.error();
  }
  lookahead_.EndStep();
  stats_ = meter_.Take(context_.step, tokens.size(), EmbedTraffic(tokens));
  if (StepObserver* const observer = observer_.load()) observer->StepEnded(stats_);
  context_.before.reset();
  ++context_.step;
  return StateStore::Versions(std::move(context_.log));
}

void Pipeline::Cancel() {
  cancel_.store(true);
  if (Over()) return;
  graph_.outcome().Fail(Cancelled("cancelled"));
}

}  // namespace penstock::k3
