#pragma once

#include <span>
#include <string>

#include "models/k3/commands/console.h"

namespace penstock::k3 {

// `penstock bench WHAT`: measures a part of the program on this machine; alone, it lists the parts.
// Answers the exit code.
int RunBench(Console& console, std::span<const std::string> arguments);

}  // namespace penstock::k3
