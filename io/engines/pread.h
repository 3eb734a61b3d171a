#pragma once

#include <memory>

#include "io/engines/engine.h"

namespace penstock::io {

// A pool of threads that call pread(2). It has a few more threads than reads that may wait in the
// scheduler's window, so that a demanded read always finds one free.
Result<std::unique_ptr<Engine>> MakePreadEngine(const EngineSetup& setup);

}  // namespace penstock::io
