#pragma once

#include <span>
#include <string>

#include "models/k3/commands/console.h"

namespace penstock::k3 {

// `penstock pack -m DIR -o PACK`: stores the trunk, or a safetensors file, in fewer bytes. Answers the
// exit code, as the two below.
int RunPack(Console& console, std::span<const std::string> arguments);

// `penstock unpack PACK -o FILE`: the file back from its pack.
int RunUnpack(Console& console, std::span<const std::string> arguments);

// `penstock verify PACK`: every byte of a pack, checked.
int RunVerify(Console& console, std::span<const std::string> arguments);

}  // namespace penstock::k3
