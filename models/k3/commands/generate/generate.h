#pragma once

#include <span>
#include <string>

#include "models/k3/commands/console.h"

namespace penstock::k3 {

// `penstock generate`: continues a prompt. Answers the exit code.
int RunGenerate(Console& console, std::span<const std::string> arguments);

}  // namespace penstock::k3
