#include "io/engines/make.h"

#include <utility>

#include <fmt/format.h>

#include "io/engines/decorators/fault.h"
#include "io/engines/decorators/pace.h"
#include "io/engines/memory.h"
#include "io/engines/pread.h"
#include "io/engines/uring.h"

namespace penstock::io {
namespace {

Result<std::unique_ptr<Engine>> MakeNamed(const std::string& name, const EngineSetup& setup) {
  if (name == "pread") return MakePreadEngine(setup);
  if (name == "memory") return MakeMemoryEngine(setup);
  if (name != "io_uring" && name != "auto") {
    return Refused(fmt::format("--ioengine is auto, io_uring, pread or memory, got \"{}\"", name));
  }
  auto ring = MakeUringEngine(setup);
  if (ring || name == "io_uring") return ring;
  Tell(setup.notice, fmt::format("reading with pread: {}", ring.error().message));
  return MakePreadEngine(setup);
}

}  // namespace

Result<std::unique_ptr<Engine>> MakeEngine(const IoOptions& options, const EngineSetup& setup,
                                           const std::string& tag_name) {
  PENSTOCK_TRY(FaultScript script, ParseFaultScript(options.fault, tag_name));
  PENSTOCK_TRY(const Pace pace, ParsePace(options.pace));
  PENSTOCK_TRY(std::unique_ptr<Engine> engine, MakeNamed(options.ioengine, setup));
  if (!options.pace.empty()) {
    PENSTOCK_TRY(engine, MakePacedEngine(std::move(engine), pace, setup.cpus));
  }
  if (!options.fault.empty()) {
    PENSTOCK_TRY(engine,
                 MakeFaultEngine(std::move(engine), std::move(script), *setup.files, setup.cpus));
  }
  return engine;
}

}  // namespace penstock::io
