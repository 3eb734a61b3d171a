#include "models/k3/plan/run_plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace penstock::k3 {
namespace {

constexpr double kWorthSaying = 0.97;  // Of the time, what a change must come to.
constexpr double kUsualPackRatio =
    0.667;  // Of a trained bf16 trunk, with the chain codec (README).

std::vector<SourceBytes> Sources(const WeightBytes& weights, const MemoryPlan& memory,
                                 double hits) {
  SourceBytes trunk{"trunk", 0, 0}, head{"head", 0, 0};
  size_t next = 0;
  for (uint32_t i = 0; i < weights.pieces.size(); ++i) {
    const PieceBytes& piece = weights.pieces[i];
    SourceBytes& source = piece.role == Role::kHead ? head : trunk;
    source.all += piece.payload;
    if (next == memory.pinned.size() || memory.pinned[next] != i) continue;
    source.memory += piece.payload;
    ++next;
  }
  trunk.all += weights.vector_bytes;
  trunk.memory += weights.vector_bytes;
  head.all += weights.final_vector_bytes;
  head.memory += weights.final_vector_bytes;
  const SourceBytes embed{"embedding row", weights.embed_row_bytes, 0};
  SourceBytes experts{"experts", weights.chosen_experts() * weights.expert_bytes, 0};
  experts.memory = static_cast<uint64_t>(static_cast<double>(experts.all) * hits);
  return {trunk, head, embed, experts};
}

Result<MemoryPlan> PlanWith(const PlanRequest& request, const std::string& pin, uint64_t budget) {
  PipelineOptions options = request.pipeline;
  options.pin = pin;
  MemoryNeeds needs = request.needs;
  needs.budget_bytes = budget;
  return PlanMemory(needs, options, request.weights, request.shape);
}

Prediction PredictWith(const PlanRequest& request, const MemoryPlan& memory) {
  return PredictStep(
      MakeStepModel(request.weights, memory, request.shape, request.rates, request.settings));
}

void TryChange(std::string what, const PlanRequest& changed, RunPlan& plan) {
  const auto memory = PlanMemory(changed.needs, changed.pipeline, changed.weights, changed.shape);
  if (!memory) return;
  const double ns = PredictWith(changed, *memory).ns;
  if (ns < kWorthSaying * plan.prediction.ns) plan.changes.push_back({std::move(what), ns});
}

void TryChanges(const PlanRequest& request, RunPlan& plan) {
  PlanRequest changed = request;
  if (!request.weights.packed) {
    changed.weights = PackedAs(request.weights, kUsualPackRatio);
    TryChange(fmt::format("pack the trunk ({} of its bytes)", kUsualPackRatio), changed, plan);
    changed.weights = request.weights;
  }
  changed.needs.budget_bytes = 2 * request.needs.budget_bytes;
  TryChange(fmt::format("twice the memory, {}", DescribeSize(changed.needs.budget_bytes)), changed,
            plan);
  changed.needs = request.needs;
  changed.rates.device = 2 * request.rates.device;
  TryChange("a device, or several, of twice the rate", changed, plan);
  changed.rates = request.rates;
  changed.rates.cores = 2 * request.rates.cores;
  TryChange(fmt::format("{} cores", changed.rates.cores), changed, plan);
  changed.rates = request.rates;
  changed.rates.memory = 2 * request.rates.memory;
  TryChange("twice the memory bandwidth", changed, plan);
  std::sort(plan.changes.begin(), plan.changes.end(),
            [](const Change& a, const Change& b) { return a.ns < b.ns; });
}

std::string Row(const SourceBytes& source) {
  return fmt::format("  {:<18} {:>18} {:>18} {:>18}\n", source.name, source.all, source.memory,
                     source.device());
}

SourceBytes Total(const RunPlan& plan) {
  SourceBytes total{"total", 0, 0};
  for (const SourceBytes& source : plan.sources) {
    total.all += source.all;
    total.memory += source.memory;
  }
  return total;
}

double PredictedSeconds(double ns) { return ns / 1e9; }

// One sentence with the numbers that prove it.
std::string BoundSentence(const Prediction& prediction) {
  const auto share = [&](double ns) { return 100 * ns / prediction.ns; };
  switch (prediction.bound) {
    case StepBound::kDevice:
      return fmt::format(
          "device-bound: the device is busy {:.0f} % of the step, the cores {:.0f} %",
          share(prediction.device_ns), share(prediction.compute_ns));
    case StepBound::kCompute:
      return fmt::format(
          "compute-bound: the cores are busy {:.0f} % of the step, the device {:.0f} %",
          share(prediction.compute_ns), share(prediction.device_ns));
    case StepBound::kExpertWait:
      return fmt::format(
          "bound by expert waits: nothing runs for {:.0f} % of the step because an expert is not "
          "there",
          share(prediction.expert_wait_ns));
  }
  return {};
}

}  // namespace

Result<RunPlan> MakePlan(const PlanRequest& request) {
  RunPlan plan;
  PENSTOCK_TRY(plan.memory,
               PlanMemory(request.needs, request.pipeline, request.weights, request.shape));
  // Nothing pinned, as much memory as it likes: what is least, and what is enough.
  PENSTOCK_TRY(const MemoryPlan unpinned, PlanWith(request, "0", uint64_t{1} << 60));
  plan.least_bytes = unpinned.least_bytes;
  plan.overlap_bytes = unpinned.overlap_bytes;
  const StepModel model =
      MakeStepModel(request.weights, plan.memory, request.shape, request.rates, request.settings);
  plan.expert_hits = model.expert_hits;
  plan.sources = Sources(request.weights, plan.memory, plan.expert_hits);
  plan.prediction = PredictStep(model);
  TryChanges(request, plan);
  return plan;
}

std::string RunPlanTable(const PlanRequest& request, const RunPlan& plan) {
  const MachineRates& rates = request.rates;
  std::string out = fmt::format(
      "{}: {} layers, {} of {} experts, trunk {}\n\n", request.model, request.shape.layers,
      request.weights.top_k, request.weights.experts, request.weights.packed ? "packed" : "bf16");
  out += fmt::format("memory ({})\n{}", request.needs.budget_from, plan.memory.Table());
  out += fmt::format("  {:<32} {:>18}  {:>9}\n", "least that works, no pins", plan.least_bytes,
                     DescribeSize(plan.least_bytes));
  out += fmt::format("  {:<32} {:>18}  {:>9}\n\n", "least that overlaps, no pins",
                     plan.overlap_bytes, DescribeSize(plan.overlap_bytes));
  out += fmt::format("{:<20} {:>18} {:>18} {:>18}\n", "bytes of a token", "all", "in memory",
                     "from the device");
  for (const SourceBytes& source : plan.sources) out += Row(source);
  out += Row(Total(plan));
  out += fmt::format("  {:.1f} % of the chosen experts are expected in the cache\n\n",
                     100 * plan.expert_hits);
  out += fmt::format(
      "machine: device {:.2f} GB/s; {} cores of {:.1f} GB/s bf16 and {:.1f} GB/s MXFP4 ({}); "
      "memory "
      "{:.1f} GB/s\n",
      rates.device / 1e9, rates.cores, rates.bf16 / 1e9, rates.mxfp4 / 1e9,
      request.calibrated ? "measured now" : "assumed", rates.memory / 1e9);
  const Prediction& p = plan.prediction;
  out += fmt::format(
      "{:.3f} s a token: device {:.3f} s, compute {:.3f} s, waits for experts {:.3f} s, for the "
      "trunk {:.3f} s\n{}\n",
      PredictedSeconds(p.ns), PredictedSeconds(p.device_ns), PredictedSeconds(p.compute_ns),
      PredictedSeconds(p.expert_wait_ns), PredictedSeconds(p.trunk_wait_ns), BoundSentence(p));
  for (const Change& change : plan.changes) {
    out += fmt::format("  {:<44} {:>8.3f} s a token\n", change.what, PredictedSeconds(change.ns));
  }
  return out;
}

Json RunPlanJson(const PlanRequest& request, const RunPlan& plan) {
  Json parts = Json::array();
  for (const auto& [name, bytes] : plan.memory.parts) {
    parts.push_back({{"name", name}, {"bytes", bytes}});
  }
  Json sources = Json::object();
  for (const SourceBytes& source : plan.sources) {
    sources[source.name] = {
        {"all", source.all}, {"memory", source.memory}, {"device", source.device()}};
  }
  Json changes = Json::array();
  for (const Change& change : plan.changes) {
    changes.push_back({{"change", change.what}, {"s_per_token", PredictedSeconds(change.ns)}});
  }
  const MachineRates& rates = request.rates;
  const Prediction& p = plan.prediction;
  return {{"schema", "penstock.plan.v1"},
          {"model", request.model},
          {"machine",
           {{"device", rates.device},
            {"cores", rates.cores},
            {"bf16", rates.bf16},
            {"mxfp4", rates.mxfp4},
            {"decode", rates.decode},
            {"memory", rates.memory},
            {"calibrated", request.calibrated}}},
          {"memory",
           {{"budget_bytes", plan.memory.budget_bytes},
            {"budget_from", request.needs.budget_from},
            {"total_bytes", plan.memory.total_bytes()},
            {"least_bytes", plan.least_bytes},
            {"overlap_bytes", plan.overlap_bytes},
            {"ring_bytes", plan.memory.ring_bytes},
            {"cached_experts", plan.memory.slots},
            {"positions", plan.memory.positions},
            {"read_positions", plan.memory.read_positions},
            {"pinned_layers", plan.memory.pinned_layers},
            {"pinned_bytes", plan.memory.pinned_bytes},
            {"pinned_packed", plan.memory.pinned_packed && plan.memory.pinned_layers != 0},
            {"parts", parts}}},
          {"bytes_per_token", sources},
          {"expert_hits", plan.expert_hits},
          {"prediction",
           {{"s_per_token", PredictedSeconds(p.ns)},
            {"bound", BoundName(p.bound)},
            {"device_s", PredictedSeconds(p.device_ns)},
            {"compute_s", PredictedSeconds(p.compute_ns)},
            {"expert_wait_s", PredictedSeconds(p.expert_wait_ns)},
            {"trunk_wait_s", PredictedSeconds(p.trunk_wait_ns)},
            {"verdict", BoundSentence(p)}}},
          {"changes", changes}};
}

}  // namespace penstock::k3
