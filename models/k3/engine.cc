#include "models/k3/engine.h"

#include <algorithm>

#include <fmt/format.h>
#include <malloc.h>

#include "io/checkpoint.h"
#include "io/device_stats.h"
#include "io/file.h"
#include "models/k3/layers/kda.h"
#include "models/k3/plan/preset.h"
#include "models/k3/state/fold.h"
#include "ops/isa.h"
#include "runtime/machine/cgroup.h"
#include "runtime/process/process.h"
#include "runtime/size.h"

namespace penstock::k3 {
namespace {

// The budget and who set it.
Status FillBudget(const PipelineOptions& options, MemoryNeeds& needs) {
  PENSTOCK_TRY(const ProcessMemory memory, ReadProcessMemory());
  needs.process_bytes = memory.rss_bytes;
  if (options.memory.bytes != 0) {
    needs.budget_bytes = options.memory.bytes;
    needs.budget_from = BudgetName(options);
    return {};
  }
  const MemoryBudget budget = ChooseMemoryBudget(memory.rss_bytes);
  needs.budget_bytes = budget.bytes;
  needs.budget_from = budget.bound_by;
  return {};
}

uint64_t TotalBytes(const io::FileSet& files) {
  uint64_t bytes = 0;
  for (const io::File& file : files.files()) bytes += file.bytes;
  return bytes;
}

// Resident from here on; nothing for no bytes.
Result<HugeRegion> MapTouched(size_t bytes, size_t threads,
                              const std::function<bool(uint64_t)>& go_on) {
  if (bytes == 0) return HugeRegion();
  PENSTOCK_TRY(HugeRegion region, HugeRegion::Map(bytes));
  if (!region.Touch(threads, go_on)) return Cancelled("stopped while memory was made ready");
  return region;
}

}  // namespace

Status Engine::OpenCheckpoint(const std::string& directory, const Notice& notice) {
  PENSTOCK_TRY(config_, ReadConfig(directory));
  PENSTOCK_TRY(const std::unique_ptr<io::Checkpoint> checkpoint,
               io::Checkpoint::Open(directory, notice));
  PENSTOCK_TRY(Catalogue catalogue, Catalogue::Build(*checkpoint, config_.shape));
  catalogue_ = std::make_unique<Catalogue>(std::move(catalogue));
  PENSTOCK_TRY(checkpoint_id_, checkpoint->Identity());
  if (MostResidualBlocks(config_.shape) >= ops::kMaxResidualSources) {
    return Refused(
        fmt::format("{}/config.json: attn_res_block_size {} gives {} residual blocks; at "
                    "most {} are supported",
                    directory, config_.shape.residual_block, MostResidualBlocks(config_.shape),
                    ops::kMaxResidualSources - 1));
  }
  return {};
}

Status Engine::OpenPack(const PipelineOptions& options) {
  if (options.pack.empty()) {
    pass_ = std::make_unique<Pass>(Pass::Build(*catalogue_, config_.shape, options.extent.bytes));
    return {};
  }
  const auto file = static_cast<io::FileId>(catalogue_->files().size());
  PENSTOCK_TRY(TrunkPack trunk,
               OpenTrunkPack(options.pack, checkpoint_id_, *catalogue_, config_.shape, file));
  pack_ = std::move(trunk.pack);
  pass_ = std::make_unique<Pass>(std::move(trunk.pass));
  return {};
}

// What extents may lie in: the shards, and behind them the stripes of the pack.
std::vector<std::string> Engine::Paths() const {
  std::vector<std::string> paths = catalogue_->files();
  if (pack_) paths.push_back(pack_->stripes_path());
  return paths;
}

Status Engine::ChooseDecode(const PipelineOptions& options, const Notice& notice) {
  if (!pack_) {
    const std::pair<const char*, std::string> asked[] = {
        {"decode", options.decode}, {"pin-format", options.pin_format}, {"check", options.check}};
    for (const auto& [name, value] : asked) {
      if (value == "auto" || value == "stored") continue;  // What they are when nobody asks.
      return Refused(fmt::format("--{} {} is for a pack: expected --pack DIR", name, value));
    }
    return {};
  }
  codecs_ = ops::ChooseCodecKernels(options.isa, notice);
  decode_nodes_ = options.decode == "node";
  if (options.decode == "fused") {
    if (!options.cpus_decode.empty()) Tell(notice, "--decode fused has no use for --cpus-decode");
    return {};
  }
  PENSTOCK_TRY(decode_cost_, MeasureDecode(*pack_, *pass_, codecs_, *kernels_));
  const DecodeCores cores{cores_.threads, cores_.decode_threads, cores_.shared};
  const double fused = FusedTime(decode_cost_, cores);
  const double node = NodeTime(decode_cost_, cores);
  if (options.decode == "auto") {
    decode_nodes_ = node < fused;
  } else if (cores_.shared && fused > 0) {
    Tell(notice,
         fmt::format("--decode node on CPUs that compute as well: a stripe takes {:.2f} times as "
                     "long as with --decode fused ({:.1f} and {:.1f} ns a KiB)",
                     node / fused, node, fused));
  }
  return {};
}

Status Engine::Plan(size_t context, const PipelineOptions& options, const io::IoOptions& io_options,
                    const io::FileSet& files) {
  weight_bytes_ = MeasureWeights(*catalogue_, config_.shape, *pass_, files);
  malloc_trim(0);  // The checkpoint's tables are gone: what they took is not the run's.
  MemoryNeeds needs;
  needs.context = context_positions_ = context;
  needs.positions = options.positions;
  needs.fewer_positions = options.fewer_positions;
  needs.read_positions = options.read_positions;
  needs.prompt_positions = std::min<uint64_t>(options.prompt_positions, context);
  needs.embed_row_bytes = weight_bytes_.EmbedRowBuffer();
  PENSTOCK_TRY_VOID(FillBudget(options, needs));
  if (io_options.ioengine == "memory") needs.image_bytes = TotalBytes(files);
  const auto plan = [&] {
    needs.decode_nodes = decode_nodes_ ? cores_.decode_threads : 0;
    if (pack_) needs.decoder_bytes = StripeDecoders::BytesEach(*pass_) * DecoderCount();
    return PlanMemory(needs, options, weight_bytes_, config_.shape);
  };
  Result<MemoryPlan> planned = plan();
  if (!planned && decode_nodes_ && options.decode == "auto") {
    decode_nodes_ = false;  // They may be faster, but they need a ring more than there is room for.
    planned = plan();
  }
  PENSTOCK_TRY(plan_, std::move(planned));
  positions_ = plan_.positions;
  read_positions_ = plan_.read_positions;
  return {};
}

// One for each thread that may decode.
size_t Engine::DecoderCount() const {
  return cores_.threads + (decode_nodes_ ? cores_.decode_threads : 0);
}

Status Engine::Allocate(const PipelineOptions& options, const io::IoOptions& io_options,
                        io::FileSet files, const Notice& notice, const OpenProgress& progress) {
  const size_t alignment = files.Alignment();
  const size_t row_bytes = weight_bytes_.EmbedRowBuffer();
  const size_t rows_bytes = row_bytes * read_positions_;
  const size_t ring_bytes = RoundUp(plan_.ring_bytes, alignment);
  const std::pair<HugeRegion*, size_t> parts[] = {
      {&memory_, ring_bytes + plan_.cache_bytes() + rows_bytes},
      {&pinned_memory_, plan_.pinned_bytes},
      {&decoded_memory_, plan_.decoded_ring_bytes}};
  uint64_t total = 0;
  for (const auto& [region, bytes] : parts) total += bytes;
  uint64_t before = 0;
  for (const auto& [region, bytes] : parts) {
    PENSTOCK_TRY(*region, MapTouched(bytes, cores_.threads, [&](uint64_t done) {
      return !progress || progress("memory made ready", before + done, total);
    }));
    before += bytes;
  }
  const io::Region regions[] = {{memory_.data(), memory_.size()},
                                {pinned_memory_.data(), pinned_memory_.size()}};
  const size_t region_count = plan_.pinned_bytes != 0 ? 2 : 1;
  PENSTOCK_TRY(reader_, io::MakeReader(io_options, std::move(files),
                                       std::span(regions).first(region_count), notice, "layer"));

  ring_ = std::make_unique<ByteRing>(memory_.data(), ring_bytes, alignment);
  decoded_ring_ = std::make_unique<ByteRing>(decoded_memory_.data(), plan_.decoded_ring_bytes,
                                             kDecodedAlignment);
  std::byte* const cache = memory_.data() + ring_bytes;
  embed_rows_ =
      std::make_unique<BlockPool>(cache + plan_.cache_bytes(), row_bytes, read_positions_);
  PENSTOCK_TRY(resident_, Resident::Load(*catalogue_, *reader_, *kernels_));
  PENSTOCK_TRY(store_,
               StateStore::Create(config_.shape, context_positions_, positions_, read_positions_));
  PENSTOCK_TRY(Activations activations,
               Activations::Create(config_.shape, read_positions_, positions_));
  step_context_ = std::make_unique<Context>(config_.shape, *kernels_, *resident_, *store_,
                                            std::move(activations));
  if (pack_) {
    const StripeCheck check = options.check == "full" ? StripeCheck::kFull : StripeCheck::kStored;
    PENSTOCK_TRY(decoders_, StripeDecoders::Create(*pack_, *pass_, codecs_, check, DecoderCount()));
  }
  stream_ = std::make_unique<WeightStream>(*pass_, config_.shape.layers, *reader_, *ring_,
                                           options.depth, decode_nodes_);
  PENSTOCK_TRY_VOID(Pin(progress));
  experts_ = std::make_unique<Experts>(*catalogue_, config_.shape, *reader_, cache,
                                       plan_.slot_bytes, plan_.slots, AheadSlots(options));
  return {};
}

Status Engine::Pin(const OpenProgress& progress) {
  uint64_t total = 0;
  for (const uint32_t extent : plan_.pinned) total += pass_->extents()[extent].extent.bytes;
  const auto go_on = [&](uint64_t done) {
    return !progress || progress("weights pinned", done, total);
  };
  if (!pack_ || plan_.pinned_packed) {
    return stream_->Pin(plan_.pinned, pinned_memory_.data(), go_on);
  }
  PENSTOCK_TRY(HugeRegion staging,
               MapTouched(plan_.staging_bytes, 1, [](uint64_t) { return true; }));
  return stream_->PinDecoded(plan_.pinned, pinned_memory_.data(), {staging.data(), staging.size()},
                             *decoders_, go_on);
}

// Predictions may hold what one layer's demands do not need, and no more than would serve a layer.
size_t Engine::AheadSlots(const PipelineOptions& options) const {
  const size_t top_k = config_.shape.top_k;
  if (options.predict == "off" || plan_.slots <= top_k) return 0;
  return std::min<size_t>(plan_.slots - top_k, top_k);
}

// The largest of all devices.
uint64_t Engine::window_bytes() const {
  uint64_t window = 0;
  for (const io::DeviceStats& device : reader_->devices()) {
    window = std::max(window, device.window_bytes);
  }
  return window;
}

void Engine::Start(const PipelineOptions& options, const LookaheadOptions& lookahead) {
  const auto pinned = [](const std::string& asked, const CpuSet& cpus) {
    return asked.empty() ? std::vector<int>()
                         : std::vector<int>(cpus.cpus.begin(), cpus.cpus.end());
  };
  const size_t nodes = decode_nodes_ ? cores_.decode_threads : 0;
  arena_ = std::make_unique<graph::Arena>(cores_.threads,
                                          pinned(options.cpus_compute, cores_.compute), nodes);
  Services services{*arena_,        *reader_,        *pass_,       *stream_,
                    *ring_,         *experts_,       *embed_rows_, catalogue_->embed,
                    *step_context_, decoders_.get(), nullptr,      nullptr,
                    lookahead};
  if (decode_nodes_) {
    decode_arena_ = std::make_unique<graph::Arena>(
        nodes,
        pinned(options.cpus_decode.empty() ? options.cpus_compute : options.cpus_decode,
               cores_.decode),
        cores_.threads, "penstock-decode");
    decode_queue_ =
        std::make_unique<DecodeQueue>(*pass_, *stream_, *decoded_ring_, *decoders_, *decode_arena_);
    services.decode = decode_queue_.get();
    services.decoded_ring = decoded_ring_.get();
  }
  pipeline_ = std::make_unique<Pipeline>(services);
}

Result<std::unique_ptr<Engine>> Engine::Open(const std::string& directory, size_t context,
                                             const PipelineOptions& asked,
                                             const io::IoOptions& io_options, const Notice& notice,
                                             Predictor* predictor, const OpenProgress& progress) {
  const PipelineOptions options = ApplyPreset(asked);
  std::unique_ptr<Engine> engine(new Engine);
  PENSTOCK_TRY(engine->kernels_, ops::ChooseKernels(options.isa, notice));
  PENSTOCK_TRY_VOID(engine->OpenCheckpoint(directory, notice));
  PENSTOCK_TRY_VOID(engine->OpenPack(options));
  PENSTOCK_TRY(engine->cores_, ChooseCores(options, engine->pack_ != nullptr));
  PENSTOCK_TRY_VOID(engine->ChooseDecode(options, notice));
  PENSTOCK_TRY(const io::DirectMode direct, io::ParseDirectMode(io_options.direct));
  PENSTOCK_TRY(io::FileSet files, io::FileSet::Open(engine->Paths(), direct, notice));
  PENSTOCK_TRY_VOID(engine->Plan(context, options, io_options, files));
  PENSTOCK_TRY_VOID(engine->Allocate(options, io_options, std::move(files), notice, progress));
  engine->Start(options, {ParsePredictMode(options.predict), engine->window_bytes(), predictor});
  return engine;
}

Status Engine::Check(const text::StateRef& before, std::span<const text::TokenId> tokens) const {
  const size_t most = output_ == text::StepOutput::kAll ? positions_ : read_positions_;
  if (tokens.empty() || tokens.size() > most) {
    return Refused(fmt::format("a step takes 1 to {} tokens, got {}", most, tokens.size()));
  }
  for (const text::TokenId id : tokens) {
    if (id < config_.shape.vocab) continue;
    return Refused(
        fmt::format("token id {} is not in the vocabulary of {}", id, config_.shape.vocab));
  }
  if (before->position() + tokens.size() > context_positions_) {
    return Refused(fmt::format("position {} is beyond the context of {} positions",
                               before->position() + tokens.size() - 1, context_positions_));
  }
  return {};
}

Result<text::StepResult> Engine::Step(const text::StateRef& before,
                                      std::span<const text::TokenId> tokens) {
  PENSTOCK_TRY_VOID(Check(before, tokens));
  PENSTOCK_TRY(auto after, pipeline_->Step(std::static_pointer_cast<const SequenceState>(before),
                                           tokens, output_));
  text::StepResult result;
  result.logits = {step_context_->act.logits[0], after.size() * config_.shape.vocab};
  result.after.assign(std::make_move_iterator(after.begin()), std::make_move_iterator(after.end()));
  return result;
}

std::vector<KdaTaps> Engine::Taps() const {
  std::vector<KdaTaps> taps;
  for (size_t layer = 0; layer < config_.shape.layers; ++layer) {
    if (config_.shape.IsKda(layer)) {
      taps.push_back(TapsOf(resident_->layer(layer)));
    }
  }
  return taps;
}

uint64_t Engine::Fold(const text::StateRef& version) const {
  return FoldState(static_cast<const SequenceState&>(*version), *kernels_, Taps());
}

Result<uint64_t> Engine::Save(const std::string& path, const text::StateRef& version,
                              const SavedSequence& sequence) const {
  return SaveState(path, Owner(), sequence, static_cast<const SequenceState&>(*version), *kernels_,
                   Taps());
}

Result<text::StateRef> Engine::Restore(SavedState& saved) {
  for (const text::TokenId id : saved.facts().sequence.ids) {
    if (id < config_.shape.vocab) continue;
    return Refused(
        fmt::format("{}: expected ids below {}, got {}", saved.path(), config_.shape.vocab, id));
  }
  PENSTOCK_TRY(text::StateRef version, saved.Load(Owner(), *store_));
  return version;
}

RoutesHeader Engine::routes_header() const {
  const Shape& shape = config_.shape;
  return {shape.layers, shape.experts, shape.top_k, plan_.slot_bytes, checkpoint_id_};
}

TracedEngine Engine::Traced() const {
  TracedEngine traced{pipeline_->picture(),
                      *pass_,
                      *ring_,
                      {},
                      arena_->threads(),
                      decode_nodes_ ? cores_.decode_threads : 0};
  for (const io::DeviceStats& device : reader_->devices()) traced.devices.push_back(device.name);
  return traced;
}

std::string Engine::Describe() const {
  std::string out = fmt::format(
      "{}; {} kernels, {} compute threads; ring {}, expert cache {} of {} each, {} "
      "pinned layers",
      reader_->Describe(), kernels_->name, arena_->threads(), FormatSize({plan_.ring_bytes}),
      plan_.slots, FormatSize({plan_.slot_bytes}), plan_.pinned_layers);
  if (!pack_) return out;
  if (plan_.pinned_layers != 0) out += plan_.pinned_packed ? " (packed)" : " (raw)";
  const io::CodecTotals totals = pack_->manifest().Totals();
  out += fmt::format("; pack of {:.4f} the size, {}, decoded by ",
                     static_cast<double>(totals.stored_bytes) /
                         static_cast<double>(std::max<uint64_t>(totals.raw_bytes, 1)),
                     pack_->manifest().parameters.codec);
  out += decode_nodes_ ? fmt::format("{} threads of their own", cores_.decode_threads)
                       : std::string("the product");
  if (decode_cost_.fused > 0) {
    out += fmt::format(" (measured, ns a KiB: fused {:.0f}, decode {:.0f}, product {:.0f})",
                       decode_cost_.fused, decode_cost_.decode, decode_cost_.product);
  }
  return out;
}

}  // namespace penstock::k3
