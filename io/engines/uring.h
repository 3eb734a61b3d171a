#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "io/engines/engine.h"

struct io_uring;
struct iovec;

namespace penstock::io {

// Where the engine asks the kernel for what a limit may refuse. Tests replace it, because root has
// no limits; the default is the kernel. Both return 0 or -errno.
struct UringRegistration {
  std::function<int(io_uring* ring, const iovec* chunks, unsigned count)> buffers;
  std::function<int(io_uring* ring, const int* fds, unsigned count)> files;
};

// One ring and one thread that both submits and reaps: a submission costs 31-56 us for 4 MiB, which
// no caller should pay. A caller pushes to a queue and, only when the thread sleeps, wakes it
// through an eventfd whose read is armed in the ring. Memory of setup.regions and the files are
// registered when the kernel allows; what it refuses is read plainly, and one line says why.
// Refused when io_uring is forbidden (sysctl, seccomp) or absent, with the cause and the remedy.
Result<std::unique_ptr<Engine>> MakeUringEngine(const EngineSetup& setup,
                                                UringRegistration registration = {});

// One sentence on why the kernel answered io_uring_setup with the errno `sys`. `disabled` is what
// the sysctl kernel.io_uring_disabled holds, empty where there is none.
std::string ExplainUringRefusal(int sys, std::string_view disabled);

}  // namespace penstock::io
