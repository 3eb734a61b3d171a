#pragma once

#include <span>
#include <string>

#include "models/k3/commands/console.h"

namespace penstock::k3 {

// `penstock bench kernels`: how fast the kernels work on this machine
// (models/k3/bench/kernels/kernels.h). Answers the exit code.
int RunBenchKernels(Console& console, std::span<const std::string> arguments);

}  // namespace penstock::k3
