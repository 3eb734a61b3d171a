#include "models/k3/plan/request.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "io/checkpoint.h"
#include "io/file.h"
#include "models/k3/plan/calibrate.h"
#include "models/k3/plan/cores.h"
#include "models/k3/plan/preset.h"
#include "models/k3/weights/packed/trunk_pack.h"
#include "ops/isa.h"
#include "runtime/cpu/affinity.h"
#include "runtime/machine/cgroup.h"
#include "runtime/process/process.h"
#include "runtime/small_file.h"

namespace penstock::k3 {
namespace {

// What a run has before its catalogue: the program, its libraries, their first allocations. Measured.
constexpr uint64_t kProgramBytes = 8 * kMiB;

// Of each thread that decodes: the largest tile, and tables.
constexpr uint64_t kDecoderThreadBytes = 512 * kKiB;

Status ReadWeights(const PlanOptions& options, const PipelineOptions& pipeline,
                   const io::IoOptions& io_options, const Notice& notice, PlanRequest& request) {
  request.model = options.model;
  PENSTOCK_TRY(const Config config, ReadConfig(options.model));
  request.shape = config.shape;
  PENSTOCK_TRY(const std::unique_ptr<io::Checkpoint> checkpoint,
               io::Checkpoint::Open(options.model, notice));
  PENSTOCK_TRY(const Catalogue catalogue, Catalogue::Build(*checkpoint, config.shape));
  std::vector<std::string> paths = catalogue.files();
  Pass pass = Pass::Build(catalogue, config.shape, pipeline.extent.bytes);
  if (!pipeline.pack.empty()) {
    PENSTOCK_TRY(const std::string id, checkpoint->Identity());
    PENSTOCK_TRY(TrunkPack trunk, OpenTrunkPack(pipeline.pack, id, catalogue, config.shape,
                                                static_cast<io::FileId>(paths.size())));
    paths.push_back(trunk.pack->stripes_path());
    pass = std::move(trunk.pass);
  }
  PENSTOCK_TRY(const io::DirectMode direct, io::ParseDirectMode(io_options.direct));
  PENSTOCK_TRY(const io::FileSet files, io::FileSet::Open(paths, direct, notice));
  request.weights = MeasureWeights(catalogue, config.shape, pass, files);
  if (options.pack_ratio != 0) request.weights = PackedAs(request.weights, options.pack_ratio);
  return {};
}

Status ReadShape(const PlanOptions& options, const PipelineOptions& pipeline,
                 PlanRequest& request) {
  if (!pipeline.pack.empty()) return Refused("--pack needs -m: plan with --pack-ratio instead");
  request.model = options.config;
  PENSTOCK_TRY(const std::string json, ReadSmallFile(options.config));
  PENSTOCK_TRY(request.shape, ParseShape(json, options.config));
  PENSTOCK_TRY(request.weights,
               AssumeWeights(request.shape, pipeline.extent.bytes, options.pack_ratio));
  return {};
}

Status FillNeeds(const PlanOptions& options, PlanRequest& request) {
  MemoryNeeds& needs = request.needs;
  needs.process_bytes = kProgramBytes + request.weights.all_experts() * sizeof(ExpertTensors);
  needs.context = options.context;
  needs.positions = request.pipeline.positions;
  needs.fewer_positions = true;  // As where nobody asks for a number.
  needs.read_positions = request.pipeline.read_positions;
  needs.prompt_positions = std::min(options.prompt, options.context);
  needs.embed_row_bytes = request.weights.EmbedRowBuffer();
  if (request.weights.packed) needs.decoder_bytes = request.rates.cores * kDecoderThreadBytes;
  needs.budget_bytes = request.pipeline.memory.bytes;
  needs.budget_from = BudgetName(request.pipeline);
  if (needs.budget_bytes != 0) return {};
  PENSTOCK_TRY(const ProcessMemory memory, ReadProcessMemory());
  const MemoryBudget budget = ChooseMemoryBudget(memory.rss_bytes);
  needs.budget_bytes = budget.bytes;
  needs.budget_from = budget.bound_by;
  return {};
}

Status FillRates(const PlanOptions& options, const Notice& notice, PlanRequest& request) {
  MachineRates& rates = request.rates;
  PENSTOCK_TRY(const Cores cores, ChooseCores(request.pipeline, request.weights.packed));
  rates.cores = options.cores != 0 ? options.cores : cores.threads;
  rates.device = static_cast<double>(options.disk.bytes);
  if (options.calibrate) {
    PENSTOCK_TRY(const ops::Kernels* kernels, ops::ChooseKernels(request.pipeline.isa, notice));
    PENSTOCK_TRY(rates, Calibrate(rates, cores.compute, *kernels));
    request.calibrated = true;
  }
  const std::pair<ByteSize, double&> given[] = {{options.bf16_rate, rates.bf16},
                                                {options.mxfp4_rate, rates.mxfp4},
                                                {options.decode_rate, rates.decode},
                                                {options.memory_bandwidth, rates.memory}};
  for (const auto& [asked, rate] : given) {
    if (asked.bytes != 0) rate = static_cast<double>(asked.bytes);
  }
  return {};
}

}  // namespace

Result<PlanRequest> MakePlanRequest(const PlanOptions& options, const PipelineOptions& pipeline,
                                    const io::IoOptions& io_options, const Notice& notice) {
  if (options.model.empty() == options.config.empty()) {
    return Refused("expected either -m DIR, a checkpoint, or --config FILE, its config.json");
  }
  PlanRequest request;
  request.pipeline = ApplyPreset(pipeline);
  if (options.model.empty()) {
    PENSTOCK_TRY_VOID(ReadShape(options, request.pipeline, request));
  } else {
    PENSTOCK_TRY_VOID(ReadWeights(options, request.pipeline, io_options, notice, request));
  }
  PENSTOCK_TRY_VOID(FillRates(options, notice, request));
  PENSTOCK_TRY_VOID(FillNeeds(options, request));
  StepSettings& settings = request.settings;
  settings.read_bytes = io_options.bs.bytes;
  if (io_options.iodepth != 0) settings.window_bytes = io_options.iodepth * io_options.bs.bytes;
  settings.depth = request.pipeline.depth;
  settings.position = options.position;
  settings.expert_hits = options.hit_rate;
  return request;
}

}  // namespace penstock::k3
