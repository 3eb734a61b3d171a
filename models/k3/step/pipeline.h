#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "io/reader.h"
#include "models/k3/experts/experts.h"
#include "models/k3/experts/routes.h"
#include "models/k3/layers/context.h"
#include "models/k3/layers/flow.h"
#include "models/k3/step/lookahead.h"
#include "models/k3/step/messages.h"
#include "models/k3/step/step_meter.h"
#include "models/k3/step/step_observer.h"
#include "models/k3/weights/meeting.h"
#include "models/k3/weights/packed/decode_queue.h"
#include "models/k3/weights/packed/stripe_decoder.h"
#include "models/k3/weights/pass.h"
#include "models/k3/weights/stream.h"
#include "models/text/text_model.h"
#include "runtime/measure/idle_clock.h"
#include "runtime/memory/block_pool.h"

namespace penstock::k3 {

// What the pipeline's bodies work with. Everything outlives the pipeline.
struct Services {
  graph::Arena& arena;
  io::Reader& reader;
  const Pass& pass;
  WeightStream& stream;
  ByteRing& ring;
  Experts& experts;
  BlockPool& embed_rows;  // A block for each position's row, while it is read.
  Matrix embed;
  Context& context;
  StripeDecoders* decoders = nullptr;  // For a pass over stripes,
  DecodeQueue* decode = nullptr;       // and where they are decoded on arrival.
  ByteRing* decoded_ring = nullptr;    // What that decodes into.
  LookaheadOptions lookahead;
};

// The graph of one step, which advances a sequence by as many positions as the activations have room
// for, with one pass over the weights. It is built once; a step is a message.
//
//   weights, in order of use, ahead of the tokens             activations
//
//   admit --> read --> meet <-- inputs that are ready --.     token --> embed
//     ^                 | | |                           |                |
//     |    row blocks   | | `--> expert ------.         |                v
//     |                 | `--> attend ------. |         '----------- advance <-- done,
//     |                 `--> product ------. ||          |  |  |  |               from every stage
//     |                                    v vv          |  |  |  `--> commit
//     '--- bytes come home when the      (advance)       |  |  `--> mix, gate, activate, ...
//          last reference drops                          |  `--> kda heads
//                                                        `--> choose --> credits --> fetch --> meet
//
// `advance` is bookkeeping alone (layers/flow.h); the arithmetic is in the stages that it starts,
// with their bodies in layers/. `penstock inspect --graph` prints the picture from the live
// objects.
//
// Threads: Step from one thread at a time, which is no worker; Cancel from any.
class Pipeline {
 public:
  explicit Pipeline(const Services& services);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Advances `before` by `tokens`: the version after each of them; act.logits then holds, row by
  // row, what predicts the token after it. Less than kAll: the version after the last token alone, and
  // its row as the only one, which for kState need not be finite.
  Result<std::vector<std::shared_ptr<const SequenceState>>> Step(
      std::shared_ptr<const SequenceState> before, std::span<const text::TokenId> tokens,
      text::StepOutput output);
  void ExpectMore(bool more) { more_.store(more); }
  void Cancel();
  // Look ahead in every layer, also where nothing is read ahead: routes are recorded.
  void PredictAlways(bool always) { lookahead_.Always(always); }

  const StepStats& last_step() const { return stats_; }
  // The experts of each layer in the last step, position by position; of a failed step those it came
  // to.
  std::span<const Route> last_routes() const {
    return std::span(routes_).first(context_.positions * context_.shape.moe_layers());
  }
  std::vector<LayerPrediction> prediction_stats() const { return lookahead_.stats(); }
  std::string Dot(bool times) const { return graph_.picture().Dot(times); }
  // Told of every body and of every read; null for nobody. Between steps; the weights side runs on
  // then, so that the observer must outlive the pipeline.
  void Observe(StepObserver* observer) {
    observer_.store(observer);
    graph_.Observe(observer);
    if (s_.decode != nullptr) s_.decode->Observe(observer);
  }
  const graph::Picture& picture() const { return graph_.picture(); }

 private:
  using AdmitStage = graph::Stage<Wake, Extent>;
  using MeetStage = graph::Stage<Arrival, Block, Block, ReadyExpert, Glimpse>;
  using BlockStage = graph::Stage<Block, Done>;
  using SmallStage = graph::Stage<Go, Done>;  // A short piece of arithmetic between products.
  using AdvanceStage =
      graph::Stage<Done, Arrival, Wanted, Heads, Go, Go, Go, Go, Go, Go, Go, Go, Go, Go>;
  enum Port : size_t {
    kToMeet,
    kToCredits,
    kToKda,
    kToMix,
    kToNormQuery,
    kToAppend,
    kToGate,
    kToActivate,
    kToChoose,
    kToPrepare,
    kToGather,
    kToCombine,
    kToCommit,
  };

  void Connect();
  SmallStage Small(const char* name, Event event, Status (*body)(Context&));

  // Bodies. Those of stages whose work is elsewhere return at once.
  void Admit(AdmitStage::Outputs& out);
  void Read(const Extent& extent, graph::Reply<Arrival> reply);
  void ReadRow(const Token& token, graph::Reply<Done> reply);
  void Decode(const Arrival& stripe, graph::Reply<Arrival> reply);
  void Fetch(const Wanted& wanted, graph::Reply<Arrival> reply);
  void Meet(const Arrival& arrival, MeetStage::Outputs& out);
  void MeetLookahead(const Arrival& arrival, MeetStage::Outputs& out);
  void Predict(const Glimpse& glimpse);
  void Multiply(const Block& block, BlockStage::Outputs& out);
  void Attend(const Block& block, BlockStage::Outputs& out);
  template <class Work>  // void(const uint16_t* rows, size_t first_row, size_t count)
  Status ForRows(const Block& block, const Work& work);
  void RunHeads(const Heads& heads, graph::Stage<Heads, Done>::Outputs& out);
  void Apply(const ReadyExpert& expert, graph::Stage<ReadyExpert, Done>::Outputs& out);
  void Advance(Done done, AdvanceStage::Outputs& out);
  void Dispatch(const Next& next, AdvanceStage::Outputs& out);
  void SendHeads(AdvanceStage::Outputs& out);
  void Commit();
  void OnRead(const io::ReadSpan& read) {
    meter_.Observe(read);
    if (StepObserver* const observer = observer_.load()) observer->Read(read);
  }

  void WakeAdmission();
  void EnterLayer();
  void LookAhead(AdvanceStage::Outputs& out);
  void EndPredictions();
  void NoteRoutes();
  void BeginStep(std::shared_ptr<const SequenceState> before, size_t positions,
                 text::StepOutput output);
  io::Extent EmbedRow(text::TokenId id) const;
  Traffic EmbedTraffic(std::span<const text::TokenId> tokens) const;
  void PauseWeights();
  void Recover();
  // A number for one layer of one attempt at a step.
  uint64_t Visit(uint64_t attempt, size_t layer) const {
    return attempt * (context_.shape.layers + 1) + layer;
  }
  bool Over() { return graph_.outcome().over(); }
  bool Failed(const Status& status);  // Ends the run with the status's error, if it has one.

  Services s_;
  Context& context_;
  Flow flow_;
  Meeting meeting_;
  IdleClock<kWaits> idle_{8192};
  std::vector<Block> met_blocks_;  // Scratch of meet,
  std::vector<ReadyExpert> met_experts_;
  std::vector<Next> next_;  // and of advance.
  size_t used_rows_ = 0;    // Of the logits of this step.
  std::atomic<bool> wake_pending_{false};
  std::atomic<bool> more_{true};
  std::atomic<bool> cancel_{false};
  std::atomic<uint64_t> attempt_{
      0};                 // context_.attempt, for stages that may run between two steps.
  bool recover_ = false;  // The last step did not end well: what it left must go first.
  Lookahead lookahead_;
  StepMeter meter_;
  std::atomic<StepObserver*> observer_{nullptr};
  StepStats stats_;
  std::vector<Route> routes_;  // [most positions][layers with experts]

  graph::Graph graph_;
  // Weights: in order of use, for ever, ahead of the tokens.
  AdmitStage admit_;
  graph::AsyncStage<Extent, Arrival> read_;
  std::optional<graph::AsyncStage<Arrival, Arrival>>
      decode_;  // Of a pack, when not by the product.
  // An extent meets the input of its product, an expert the latent; whichever comes second sends
  // the work on: row blocks to their product, latent attention on rows of kv_b, experts.
  MeetStage meet_;
  BlockStage product_;
  // Beside the step: what the layer to come may choose, from the router's bytes where they are here.
  graph::Stage<Glimpse> predict_;
  BlockStage attend_;
  // Tokens come in; what a finished stage makes possible is bookkeeping alone.
  graph::AsyncStage<Token, Done> embed_row_;
  AdvanceStage advance_;
  SmallStage mix_;
  graph::Stage<Heads, Done> kda_;
  SmallStage norm_query_;
  SmallStage append_latent_;
  SmallStage gate_;
  SmallStage activate_;
  // Experts: chosen, found or fetched, applied as they arrive, gathered in router order.
  SmallStage choose_;
  SmallStage prepare_latent_;
  graph::Credit<Wanted> credits_;
  graph::AsyncStage<Wanted, Arrival> fetch_;
  graph::Stage<ReadyExpert, Done> expert_;
  SmallStage gather_;
  SmallStage combine_;
  graph::Stage<Go> commit_;
};

}  // namespace penstock::k3
