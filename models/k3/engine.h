#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/arena.h"
#include "io/options.h"
#include "io/reader.h"
#include "models/k3/config/options.h"
#include "models/k3/config/shape.h"
#include "models/k3/experts/routes.h"
#include "models/k3/layers/context.h"
#include "models/k3/plan/cores.h"
#include "models/k3/plan/planner.h"
#include "models/k3/plan/weight_bytes.h"
#include "models/k3/state/saved_state.h"
#include "models/k3/state/state.h"
#include "models/k3/step/pipeline.h"
#include "models/k3/step/step_trace.h"
#include "models/k3/weights/catalogue.h"
#include "models/k3/weights/packed/decode_choice.h"
#include "models/k3/weights/packed/trunk_pack.h"
#include "models/text/text_model.h"
#include "runtime/memory/block_pool.h"
#include "runtime/memory/byte_ring.h"
#include "runtime/memory/region.h"

namespace penstock::k3 {

// Told how far opening is: "memory made ready" first, then "weights pinned", in bytes; false stops.
using OpenProgress = std::function<bool(std::string_view what, uint64_t done, uint64_t total)>;

// A K3 checkpoint ready to run: its catalogue, the memory plan, the reader, the resident vectors
// and the pipeline, made in this order and destroyed in the reverse one.
class Engine : public text::TextModel {
 public:
  // `context`: positions a sequence may have. Reads the headers, checks every contract and the
  // budget, and only then allocates. `notice` gets degradations in one line each.
  // `predictor` (borrowed) names experts in place of the built-in ones. `progress` is asked
  // while memory and pinned weights are made ready, which may take long.
  static Result<std::unique_ptr<Engine>> Open(const std::string& directory, size_t context,
                                              const PipelineOptions& options,
                                              const io::IoOptions& io_options, const Notice& notice,
                                              Predictor* predictor = nullptr,
                                              const OpenProgress& progress = {});

  size_t vocab_size() const override { return config_.shape.vocab; }
  size_t max_context() const override { return context_positions_; }
  size_t max_positions() const override { return positions_; }
  text::StateRef EmptyState() const override { return store_->Empty(); }
  // The versions of the step before should be dropped by then, but for the one that is continued: of
  // others there is room for a few, and an error says so; beside a prompt that is read in several
  // steps for none, since each of those copies all of its state. Where less than kAll is wanted, only the
  // version after the last token and its logits, [1, vocab], are made, and the state needs no memory
  // for the others.
  Result<text::StepResult> Step(const text::StateRef& before,
                                std::span<const text::TokenId> tokens) override;
  size_t max_read_positions() const override { return read_positions_; }
  void Want(text::StepOutput output) override { output_ = output; }
  void ExpectMore(bool more) override { pipeline_->ExpectMore(more); }
  void Cancel() override { pipeline_->Cancel(); }

  // Tells `sink` of every choice of experts from the next step on; null ends it. It must outlive
  // the steps. Not while a step runs.
  void ObserveRoutes(RouteSink* sink) { step_context_->routes = sink; }
  // A hash of all that `version` has become: equal after the same tokens, however many at a time
  // they were consumed. Not while a step runs.
  uint64_t Fold(const text::StateRef& version) const;
  // Writes a version, from position 1 on, and what is known of its sequence as a file
  // (models/k3/state/saved_state.h); the bytes of the file. Not while a step runs.
  Result<uint64_t> Save(const std::string& path, const text::StateRef& version,
                        const SavedSequence& sequence) const;
  // What such a file holds, once. Refused when it does not belong to this checkpoint, or is larger
  // than the context, or has changed.
  Result<text::StateRef> Restore(SavedState& saved);
  // Told of what happens from now on; null for nobody. Between steps; it must outlive the engine.
  void Observe(StepObserver* observer) { pipeline_->Observe(observer); }
  TracedEngine Traced() const;

  const StepStats& last_step() const { return pipeline_->last_step(); }
  // The experts of the last step, position by position, and what is known of them as a whole.
  std::span<const Route> last_routes() const { return pipeline_->last_routes(); }
  RoutesHeader routes_header() const;
  void PredictAlways(bool always) { pipeline_->PredictAlways(always); }
  std::vector<LayerPrediction> prediction_stats() const { return pipeline_->prediction_stats(); }
  const Experts& experts() const { return *experts_; }

  const Config& config() const { return config_; }
  const Catalogue& catalogue() const { return *catalogue_; }
  const std::string& checkpoint_id() const { return checkpoint_id_; }
  const MemoryPlan& plan() const { return plan_; }
  // What a prediction of a step is made from, beside the memory plan (plan/step_model.h).
  const WeightBytes& weight_bytes() const { return weight_bytes_; }
  const Cores& cores() const { return cores_; }
  const ops::Kernels& kernels() const { return *kernels_; }
  uint64_t window_bytes() const;  // In flight at most on a device, below the class of demands.
  // For what replays a step's reads without its arithmetic, between two steps.
  io::Reader& reader() { return *reader_; }
  const Pass& pass() const { return *pass_; }
  std::string PlanTable() const { return plan_.Table(); }
  std::string GraphDot(bool with_times) const { return pipeline_->Dot(with_times); }
  size_t workers_seen() const { return arena_->workers_seen(); }

  // One line: engine, kernels, threads, ring and cache.
  std::string Describe() const;

 private:
  Engine() = default;
  Status Check(const text::StateRef& before, std::span<const text::TokenId> tokens) const;
  Status OpenCheckpoint(const std::string& directory, const Notice& notice);
  Status OpenPack(const PipelineOptions& options);
  Status ChooseDecode(const PipelineOptions& options, const Notice& notice);
  Status Plan(size_t context, const PipelineOptions& options, const io::IoOptions& io_options,
              const io::FileSet& files);
  Status Allocate(const PipelineOptions& options, const io::IoOptions& io_options,
                  io::FileSet files, const Notice& notice, const OpenProgress& progress);
  Status Pin(const OpenProgress& progress);
  size_t DecoderCount() const;
  void Start(const PipelineOptions& options, const LookaheadOptions& lookahead);
  size_t AheadSlots(const PipelineOptions& options) const;
  std::vector<KdaTaps> Taps() const;  // [kda layers]
  StateOwner Owner() const { return {ConfigDigest(config_.text_json), checkpoint_id_}; }
  std::vector<std::string> Paths() const;

  Config config_;
  std::string checkpoint_id_;
  std::unique_ptr<Catalogue> catalogue_;
  std::unique_ptr<io::Pack> pack_;  // Null: the checkpoint alone.
  std::unique_ptr<Pass> pass_;
  const ops::Kernels* kernels_ = nullptr;
  ops::CodecKernels codecs_{};
  Cores cores_;
  bool decode_nodes_ = false;
  DecodeCost decode_cost_;  // All zero when nothing was measured.
  WeightBytes weight_bytes_;
  MemoryPlan plan_;
  size_t context_positions_ = 0;
  size_t positions_ = 1;       // The most of a step,
  size_t read_positions_ = 1;  // and of one that reads a prompt.
  text::StepOutput output_ = text::StepOutput::kAll;

  // Below: the order of destruction is the reverse of this one.
  HugeRegion memory_;  // Ring, cache and the embedding row, in this order.
  HugeRegion pinned_memory_;
  HugeRegion decoded_memory_;
  std::unique_ptr<ByteRing> ring_;
  std::unique_ptr<ByteRing> decoded_ring_;
  std::unique_ptr<BlockPool> embed_rows_;
  std::unique_ptr<io::Reader> reader_;
  std::unique_ptr<Resident> resident_;
  std::shared_ptr<StateStore> store_;
  std::unique_ptr<Context> step_context_;
  std::unique_ptr<StripeDecoders> decoders_;
  std::unique_ptr<WeightStream> stream_;
  std::unique_ptr<Experts> experts_;
  std::unique_ptr<graph::Arena> arena_;
  std::unique_ptr<graph::Arena> decode_arena_;
  std::unique_ptr<DecodeQueue> decode_queue_;
  std::unique_ptr<Pipeline> pipeline_;
};

}  // namespace penstock::k3
