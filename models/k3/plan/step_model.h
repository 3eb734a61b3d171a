#pragma once

#include <cstddef>
#include <cstdint>

#include "io/options.h"
#include "models/k3/config/shape.h"
#include "models/k3/plan/planner.h"
#include "models/k3/plan/predict.h"
#include "models/k3/plan/weight_bytes.h"

namespace penstock::k3 {

// What one machine can do. Rates in bytes a second; of kernels, of stored weights on one core that
// has the memory for itself. The defaults of the kernels are this project's own measurements on a
// core of a Zen 4 server (README); --calibrate measures them here (plan/calibrate.h).
struct MachineRates {
  double device = 0;
  double device_latency_ns = 100'000;  // Of one read of an idle NVMe device, about.
  size_t cores = 1;                    // Threads that compute.
  double bf16 = 23.6e9;                // A product with one vector.
  double mxfp4 = 10.7e9;
  double decode = 11e9;    // Of a pack: bf16 bytes that come of it (chain, AVX2).
  double state = 12e9;     // The delta rule: bytes of KDA state read and written.
  double attention = 8e9;  // Multiplications and additions of the latent attention, a second.
  // All cores together. Two channels of DDR5-4800 give 76.8e9 by their specification, of which
  // about four fifths can be had.
  double memory = 60e9;
  double message_ns = 2'000;  // A row block on its way through the graph, of one core.
  double stage_ns = 15'000;   // From the last row of a product to the first of one that needs it.
  double token_ns = 300'000;  // Between two steps: the choice of a token.
};

// How the step is run, beside the memory plan.
struct StepSettings {
  uint64_t window_bytes = io::kDefaultWindowBytes;
  uint64_t read_bytes = 4 * kMiB;
  uint64_t depth = 0;
  size_t position = 0;  // Of the sequence: what the attention looks back on.
  double expert_hits =
      -1;  // Share of the chosen experts that the cache has; below 0: ExpectedHits.
};

// The share of chosen experts found in a cache of so many, when all are chosen equally often: what
// is certain when nothing has been measured.
double ExpectedHits(const WeightBytes& weights, uint64_t slots);

StepModel MakeStepModel(const WeightBytes& weights, const MemoryPlan& plan, const Shape& shape,
                        const MachineRates& rates, const StepSettings& settings);

}  // namespace penstock::k3
