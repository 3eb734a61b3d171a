#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "runtime/result.h"
#include "runtime/size.h"

namespace penstock {

// Turns SIGINT, SIGTERM and SIGHUP into a request to stop. Invariants:
//  1. They are blocked in the thread that calls Start and in every thread made after it; a thread
//     of this class takes them, so that no code of ours runs inside a signal handler.
//  2. The first one calls `on_stop(signal)` once, on that thread. It asks others to stop
//     and returns.
//  3. The second one, or the end of `grace` after the first, ends the process at once with 128 +
//     the number of the first signal (130, 143, 129), after `on_give_up` (which must not wait for
//     anybody). What the program has written by then stays.
//  4. While there is a Respite the grace does not end; for what has an end of its own and takes
//     longer: only the second signal cuts it off. Behind it there is at least one grace, and at
//     most two: the watching thread sees only at the end of a grace that a Respite is over.
// Make it before any other thread. One per process.
class StopSignals {
 public:
  struct Actions {
    std::function<void(int signal)> on_stop;
    std::function<void()> on_give_up;
    Duration grace{1'700'000'000};
  };

  static Result<std::unique_ptr<StopSignals>> Start(Actions actions);
  // The signals have their former effect again; after one has arrived, the next one ends the
  // process at once with the status of the first.
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // One at a time.
  class Respite {
   public:
    explicit Respite(StopSignals& signals) : signals_(signals) { signals_.respite_ = true; }
    ~Respite() {
      signals_.respite_ended_ = true;
      signals_.respite_ = false;
    }
    Respite(const Respite&) = delete;
    Respite& operator=(const Respite&) = delete;

   private:
    StopSignals& signals_;
  };

  // The first signal that arrived, 0 when none has. Any thread.
  int received() const { return received_.load(); }

 private:
  StopSignals(Actions actions, int signal_fd, int end_fd);
  void Watch();
  int TakeSignal();
  [[noreturn]] void GiveUp();

  Actions actions_;
  int signal_fd_;
  int end_fd_;  // An eventfd: readable when the watching thread must end.
  std::atomic<int> received_{0};
  std::atomic<bool> respite_{false};
  std::atomic<bool> respite_ended_{false};  // Since the grace began.
  std::thread thread_;
};

}  // namespace penstock
