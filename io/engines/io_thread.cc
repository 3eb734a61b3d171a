#include "io/engines/io_thread.h"

#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/prctl.h>

#include "runtime/cpu/affinity.h"

namespace penstock::io {

void PrepareIoThread(const char* name, const CpuSet& cpus, const Notice& notice) {
  prctl(PR_SET_NAME, name);
  if (!cpus.empty()) {
    if (const Status pinned = PinThisThread(cpus); !pinned) {
      Tell(notice,
           fmt::format("the I/O thread {} is not pinned: {}", name, pinned.error().message));
    }
  }
  if (const Status slice = RequestSlice(kIoThreadSlice); !slice) {
    Tell(notice, fmt::format("the I/O thread {} may complete 2-3 ms late when every core "
                             "computes: {}",
                             name, slice.error().message));
  }
}

Status StartThread(std::thread* thread, std::function<void()> body) {
  try {
    *thread = std::thread(std::move(body));
    return {};
  } catch (const std::system_error& error) {
    return Failed(fmt::format("no I/O thread could be started: {}", error.code().message()),
                  error.code().value());
  }
}

}  // namespace penstock::io
