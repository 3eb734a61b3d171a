#include "models/k3/engine.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <malloc.h>

#include "io/checkpoint.h"
#include "io/file.h"
#include "ops/isa.h"
#include "runtime/cpu/affinity.h"
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
    needs.budget_from = "--memory";
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

// More take turns so long that the program does not stop within two seconds when asked to.
constexpr size_t kMostThreadsPerCpu = 16;

// One for each CPU of the set, and no more than the cgroup's quota can run.
size_t DefaultThreads(const CpuSet& cpus) {
  const std::optional<double> quota = ReadCgroupLimits().cpus;
  if (!quota) return cpus.size();
  return std::clamp<size_t>(static_cast<size_t>(std::ceil(*quota)), 1, cpus.size());
}

size_t EmbedRowBytes(const Catalogue& catalogue, size_t alignment) {
  return RoundUp(size_t{catalogue.embed.cols} * 2 + 2 * alignment, alignment);
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

Status Engine::Allocate(size_t context, const PipelineOptions& options,
                        const io::IoOptions& io_options, const Notice& notice) {
  pass_ = std::make_unique<Pass>(Pass::Build(*catalogue_, config_.shape, options.extent.bytes));
  malloc_trim(0);  // The checkpoint's tables are gone: what they took is not the run's.
  MemoryNeeds needs;
  needs.context = context_positions_ = context;
  PENSTOCK_TRY_VOID(FillBudget(options, needs));
  PENSTOCK_TRY(const io::DirectMode direct, io::ParseDirectMode(io_options.direct));
  PENSTOCK_TRY(io::FileSet files, io::FileSet::Open(catalogue_->files(), direct, notice));
  if (io_options.ioengine == "memory") needs.image_bytes = TotalBytes(files);
  PENSTOCK_TRY(plan_, PlanMemory(needs, options, *catalogue_, config_.shape, *pass_, files));

  const size_t alignment = files.Alignment();
  const size_t row_bytes = EmbedRowBytes(*catalogue_, alignment);
  const size_t ring_bytes = RoundUp(plan_.ring_bytes, alignment);
  PENSTOCK_TRY(memory_, HugeRegion::Map(ring_bytes + plan_.cache_bytes() + row_bytes));
  memory_.Touch();
  if (plan_.pinned_bytes != 0) {
    PENSTOCK_TRY(pinned_memory_, HugeRegion::Map(plan_.pinned_bytes));
    pinned_memory_.Touch();
  }
  const io::Region regions[] = {{memory_.data(), memory_.size()},
                                {pinned_memory_.data(), pinned_memory_.size()}};
  const size_t region_count = plan_.pinned_bytes != 0 ? 2 : 1;
  PENSTOCK_TRY(reader_, io::MakeReader(io_options, std::move(files),
                                       std::span(regions).first(region_count), notice, "layer"));

  ring_ = std::make_unique<ByteRing>(memory_.data(), ring_bytes, alignment);
  std::byte* const cache = memory_.data() + ring_bytes;
  embed_rows_ = std::make_unique<BlockPool>(cache + plan_.cache_bytes(), row_bytes, 1);
  PENSTOCK_TRY(resident_, Resident::Load(*catalogue_, *reader_, *kernels_));
  PENSTOCK_TRY(store_, StateStore::Create(config_.shape, context));
  PENSTOCK_TRY(Activations activations, Activations::Create(config_.shape));
  step_context_ = std::make_unique<Context>(config_.shape, *kernels_, *resident_, *store_,
                                            std::move(activations));
  stream_ =
      std::make_unique<WeightStream>(*pass_, config_.shape.layers, *reader_, *ring_, options.depth);
  PENSTOCK_TRY_VOID(stream_->Pin(plan_.pinned_extents, pinned_memory_.data()));
  experts_ = std::make_unique<Experts>(*catalogue_, config_.shape, *reader_, cache,
                                       plan_.slot_bytes, plan_.slots);
  return {};
}

Status Engine::Start(const PipelineOptions& options) {
  PENSTOCK_TRY(const CpuSet allowed, AllowedCpus());
  PENSTOCK_TRY(const CpuSet cpus, ChooseCpus("--cpus-compute", options.cpus_compute, allowed));
  const size_t threads = options.threads != 0 ? options.threads : DefaultThreads(cpus);
  if (threads > kMostThreadsPerCpu * cpus.size()) {
    return Refused(fmt::format("--threads {} is more than {} for each of the {} CPUs that compute",
                               threads, kMostThreadsPerCpu, cpus.size()));
  }
  const bool pin = !options.cpus_compute.empty();
  arena_ = std::make_unique<graph::Arena>(
      threads, pin ? std::vector<int>(cpus.cpus.begin(), cpus.cpus.end()) : std::vector<int>());
  pipeline_ =
      std::make_unique<Pipeline>(Services{*arena_, *reader_, *pass_, *stream_, *ring_, *experts_,
                                          *embed_rows_, catalogue_->embed, *step_context_});
  return {};
}

Result<std::unique_ptr<Engine>> Engine::Open(const std::string& directory, size_t context,
                                             const PipelineOptions& options,
                                             const io::IoOptions& io_options,
                                             const Notice& notice) {
  std::unique_ptr<Engine> engine(new Engine);
  PENSTOCK_TRY(engine->kernels_, ops::ChooseKernels(options.isa, notice));
  PENSTOCK_TRY_VOID(engine->OpenCheckpoint(directory, notice));
  PENSTOCK_TRY_VOID(engine->Allocate(context, options, io_options, notice));
  PENSTOCK_TRY_VOID(engine->Start(options));
  return engine;
}

Result<text::StepResult> Engine::Step(const text::StateRef& before,
                                      std::span<const text::TokenId> tokens) {
  if (tokens.size() != 1) {
    return Refused(fmt::format("a step takes 1 token, got {}", tokens.size()));
  }
  if (tokens[0] >= config_.shape.vocab) {
    return Refused(
        fmt::format("token id {} is not in the vocabulary of {}", tokens[0], config_.shape.vocab));
  }
  if (before->position() >= context_positions_) {
    return Refused(fmt::format("position {} is beyond the context of {} positions",
                               before->position(), context_positions_));
  }
  PENSTOCK_TRY(auto after,
               pipeline_->Step(std::static_pointer_cast<const SequenceState>(before), tokens[0]));
  text::StepResult result;
  result.after.push_back(std::move(after));
  result.logits = {step_context_->act.logits, config_.shape.vocab};
  return result;
}

std::string Engine::Describe() const {
  return fmt::format(
      "{}; {} kernels, {} compute threads; ring {}, expert cache {} of {} each, {} "
      "pinned layers",
      reader_->Describe(), kernels_->name, arena_->threads(), FormatSize({plan_.ring_bytes}),
      plan_.slots, FormatSize({plan_.slot_bytes}), plan_.pinned_layers);
}

}  // namespace penstock::k3
