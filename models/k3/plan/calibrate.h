#pragma once

#include "models/k3/plan/step_model.h"
#include "ops/kernels/kernels.h"
#include "runtime/cpu/cpu_list.h"
#include "runtime/result.h"
#include "runtime/size.h"

namespace penstock::k3 {

// More than a last-level cache gives one core, mostly.
inline constexpr size_t kCalibrationBytes = 64 * kMiB;

// `rates` with those of the kernels measured here, in less than a second: bf16, MXFP4 and the delta
// rule on one core, and what all CPUs of the set reach together, which is taken for the bandwidth of
// memory. One thread on each CPU, `bytes` of weights each (at least 8 MiB), thread CPU time: the median of a few repetitions, because
// a step is made of typical ones.
Result<MachineRates> Calibrate(MachineRates rates, const CpuSet& cpus, const ops::Kernels& kernels,
                               size_t bytes = kCalibrationBytes);

}  // namespace penstock::k3
