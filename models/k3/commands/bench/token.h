#pragma once

#include <span>
#include <string>

#include "models/k3/commands/console.h"

namespace penstock::k3 {

// penstock bench token: whole steps beside the device alone and the arithmetic alone. Returns the
// exit code.
int RunBenchToken(Console& console, std::span<const std::string> arguments);

}  // namespace penstock::k3
