#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/k3/config/options.h"
#include "models/k3/config/shape.h"
#include "models/k3/plan/planner.h"
#include "models/k3/plan/predict.h"
#include "models/k3/plan/step_model.h"
#include "models/k3/plan/weight_bytes.h"
#include "runtime/options/options.h"
#include "runtime/result.h"

namespace penstock::k3 {

// What is to be planned, and for which machine.
struct PlanRequest {
  std::string model;  // For people: the directory, or the config file.
  WeightBytes weights;
  Shape shape;
  PipelineOptions pipeline;  // With its preset applied.
  MemoryNeeds needs;
  MachineRates rates;
  bool calibrated = false;  // The kernels' rates were measured here.
  StepSettings settings;
};

// Bytes of one token from one source, as stored.
struct SourceBytes {
  std::string name;
  uint64_t all = 0;     // That the token needs,
  uint64_t memory = 0;  // of them pinned, or expected to be in the cache,
  uint64_t device() const { return all - memory; }
};

// The same run with one thing changed.
struct Change {
  std::string what;
  double ns = 0;  // Of a step.
};

struct RunPlan {
  MemoryPlan memory;
  uint64_t least_bytes = 0;    // The smallest budget that works, nothing pinned,
  uint64_t overlap_bytes = 0;  // and the smallest whose ring keeps the device busy.
  double expert_hits = 0;
  std::vector<SourceBytes> sources;
  Prediction prediction;
  std::vector<Change> changes;  // Those that gain at least 3 %, the best one first.
};

// Shares the memory out, predicts a step, and tries what would make it faster. Opens nothing; some
// milliseconds for the release.
Result<RunPlan> MakePlan(const PlanRequest& request);

std::string RunPlanTable(const PlanRequest& request, const RunPlan& plan);
Json RunPlanJson(const PlanRequest& request, const RunPlan& plan);  // Schema penstock.plan.v1.

}  // namespace penstock::k3
