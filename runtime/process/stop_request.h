#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "runtime/process/signals.h"
#include "runtime/result.h"

namespace penstock {

// SIGINT, SIGTERM and SIGHUP as a flag that long work looks at between two of its pieces. It has ten
// seconds to get there; then, or at the second signal, the process ends (StopSignals).
class StopRequest {
 public:
  StopRequest() = default;
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  // From here on. Before the first thread is made.
  Status Listen() {
    constexpr Duration kGrace{10'000'000'000};
    PENSTOCK_TRY(signals_, StopSignals::Start({.on_stop = [this](int) { requested_ = true; },
                                               .on_give_up = {},
                                               .grace = kGrace}));
    return {};
  }

  bool requested() const { return requested_.load(); }

  // The exit code of work that failed: 128 + the signal when one has come, else `code`.
  int ExitCode(int code) const {
    return signals_->received() != 0 ? 128 + signals_->received() : code;
  }

 private:
  std::atomic<bool> requested_{false};
  std::unique_ptr<StopSignals> signals_;
};

}  // namespace penstock
