#pragma once

#include "models/k3/engine.h"
#include "models/k3/plan/step_model.h"
#include "runtime/result.h"

namespace penstock::k3 {

// What `penstock plan` would say of the step that an engine runs, in nanoseconds, with the kernels' rates
// measured now (plan/calibrate.h; no step may run) and the share of experts that its last step found in
// the cache. Given: the device of `rates`, and of `settings` what the engine does not know.
Result<double> ForecastStep(const Engine& engine, MachineRates rates, StepSettings settings,
                            size_t calibration_bytes);

}  // namespace penstock::k3
