#include "models/k3/bench/token/forecast.h"

#include "models/k3/plan/calibrate.h"
#include "models/k3/plan/predict.h"

namespace penstock::k3 {

Result<double> ForecastStep(const Engine& engine, MachineRates rates, StepSettings settings,
                            size_t calibration_bytes) {
  rates.cores = engine.cores().threads;
  PENSTOCK_TRY(rates,
               Calibrate(rates, engine.cores().compute, engine.kernels(), calibration_bytes));
  const StepStats& last = engine.last_step();
  const double uses = static_cast<double>(last.expert_hits + last.expert_misses);
  settings.window_bytes = engine.window_bytes();
  settings.expert_hits = uses == 0 ? 0 : static_cast<double>(last.expert_hits) / uses;
  const StepModel model =
      MakeStepModel(engine.weight_bytes(), engine.plan(), engine.config().shape, rates, settings);
  return PredictStep(model).ns;
}

}  // namespace penstock::k3
