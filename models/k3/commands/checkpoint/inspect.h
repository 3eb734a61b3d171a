#pragma once

#include <span>
#include <string>

#include "models/k3/commands/console.h"

namespace penstock::k3 {

// `penstock inspect DIR`: what the checkpoint holds, from its headers alone; its tensors one by
// one; how many bits its weights are worth, from a sample of them; or the graph that would run it,
// which takes its memory as a run does. Answers the exit code.
int RunInspect(Console& console, std::span<const std::string> arguments);

}  // namespace penstock::k3
