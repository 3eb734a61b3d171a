#pragma once

#include <span>
#include <string>

#include "models/k3/commands/console.h"

namespace penstock::k3 {

// `penstock bench io`: how fast files are read on this machine, beside fio, and how long a demanded
// read takes (models/k3/bench/io/io.h). Answers the exit code.
int RunBenchIo(Console& console, std::span<const std::string> arguments);

}  // namespace penstock::k3
