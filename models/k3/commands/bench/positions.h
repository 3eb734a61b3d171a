#pragma once

#include <span>
#include <string>

#include "models/k3/commands/console.h"

namespace penstock::k3 {

// penstock bench positions: drafts and chunks of a prompt beside steps of one position. Returns the
// exit code.
int RunBenchPositions(Console& console, std::span<const std::string> arguments);

}  // namespace penstock::k3
