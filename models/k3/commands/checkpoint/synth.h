#pragma once

#include <span>
#include <string>

#include "models/k3/commands/console.h"

namespace penstock::k3 {

// `penstock synth -o DIR`: writes a random checkpoint. Answers the exit code.
int RunSynth(Console& console, std::span<const std::string> arguments);

}  // namespace penstock::k3
