#pragma once

#include <span>
#include <string>

#include "models/k3/commands/console.h"

namespace penstock::k3 {

// `penstock plan`: what a run would hold and how long a token would take. Answers the exit code.
int RunPlanCommand(Console& console, std::span<const std::string> arguments);

}  // namespace penstock::k3
