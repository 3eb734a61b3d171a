#pragma once

#include <chrono>
#include <functional>
#include <thread>

#include "models/k3/bench/hooks.h"

namespace penstock::k3 {

// While it lives, `cancel` is called once somebody asks the benchmark to stop, from a thread of its
// own: a step or a replay on a slow device may last for minutes.
class CancelOnStop {
 public:
  CancelOnStop(const BenchHooks& hooks, std::function<void()> cancel) {
    if (!hooks.stopped) return;
    thread_ = std::jthread(
        [stopped = hooks.stopped, cancel = std::move(cancel)](const std::stop_token& over) {
          while (!over.stop_requested()) {
            if (stopped()) return cancel();
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
          }
        });
  }

 private:
  std::jthread thread_;
};

}  // namespace penstock::k3
