#pragma once

#include <memory>

#include "io/engines/decorators/fault_script.h"
#include "io/engines/engine.h"

namespace penstock::io {

// Any engine with scripted faults in front of it. A short read asks the engine for fewer bytes
// (most of the rest of the buffer really stays as it was) and ends inside a block where it can; an
// error keeps the read from the engine altogether; a delay or a reordering holds the completion
// back. What is held comes at once on Stop. `files` gives the alignment that a shortened read
// keeps, and outlives the engine.
Result<std::unique_ptr<Engine>> MakeFaultEngine(std::unique_ptr<Engine> inner, FaultScript script,
                                                const FileSet& files, const CpuSet& cpus);

}  // namespace penstock::io
