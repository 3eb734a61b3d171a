#pragma once

#include <span>
#include <string>

#include "models/k3/commands/console.h"

namespace penstock::k3 {

// `penstock replay`: what policies of the expert cache and predictors would have made of the routes
// of an earlier run. Answers the exit code.
int RunReplay(Console& console, std::span<const std::string> arguments);

}  // namespace penstock::k3
