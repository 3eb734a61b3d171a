#pragma once

#include <span>
#include <string>

#include "models/k3/commands/console.h"

namespace penstock::k3 {

// `penstock tokenize`: the ids of a text, as --ids and --force-ids read them. Answers the exit code.
int RunTokenize(Console& console, std::span<const std::string> arguments);

}  // namespace penstock::k3
