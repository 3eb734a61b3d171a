#pragma once

#include <span>
#include <string>

#include "models/k3/commands/console.h"

namespace penstock::k3 {

// `penstock config`: the values that `penstock generate` would use with the same flags, as JSON
// that
// --config reads. Answers the exit code.
int RunConfig(Console& console, std::span<const std::string> arguments);

}  // namespace penstock::k3
