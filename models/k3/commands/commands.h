#pragma once

#include <span>
#include <string>

#include "models/k3/commands/console.h"

namespace penstock::k3 {

// Runs `penstock COMMAND ARGUMENTS...`, also --help and --version. Answers the exit code.
int RunCommand(Console& console, std::span<const std::string> arguments);

}  // namespace penstock::k3
