#pragma once

#include <memory>
#include <string>

#include "io/engines/engine.h"
#include "io/options.h"

namespace penstock::io {

// The engine that the options ask for, with their --fault and --pace around it. Decorators are
// checked before the engine is made, so that a wrong script costs nothing.
Result<std::unique_ptr<Engine>> MakeEngine(const IoOptions& options, const EngineSetup& setup,
                                           const std::string& tag_name);

}  // namespace penstock::io
