#pragma once

#include <memory>

#include "io/engines/engine.h"

namespace penstock::io {

// Reads every file into memory at creation and then serves views of that image: a read costs no
// copy and no system call, so what remains is the cost of everything but the device. One thread.
// Refused when the files do not fit into the memory that the machine and the cgroup leave.
Result<std::unique_ptr<Engine>> MakeMemoryEngine(const EngineSetup& setup);

}  // namespace penstock::io
