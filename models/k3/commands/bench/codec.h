#pragma once

#include <span>
#include <string>

#include "models/k3/commands/console.h"

namespace penstock::k3 {

// `penstock bench codec`: how fast weights are decoded on this machine (models/k3/bench/codec/codec.h).
// Answers the exit code.
int RunBenchCodec(Console& console, std::span<const std::string> arguments);

}  // namespace penstock::k3
