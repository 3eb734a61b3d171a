#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <semaphore>

#include "runtime/result.h"

namespace penstock::graph {

// How one run through the graph ends: by Finish or by the first Fail, whichever comes first.
//
// Invariants:
//  1. Between Begin and the return of Wait exactly one Finish or Fail wins; later ones do nothing.
//  2. Wait returns once the winner has called; bodies that are still running look at over() and
//     leave their work undone.
// Threads: Begin and Wait on the caller's thread; Finish, Fail and over() on any.
class Outcome {
 public:
  void Begin() {
    error_.reset();
    over_.store(false, std::memory_order_release);
  }

  void Finish() { End(std::nullopt); }
  void Fail(Error error) { End(std::move(error)); }

  bool over() const { return over_.load(std::memory_order_acquire); }

  Status Wait() {
    ended_.acquire();
    const std::lock_guard lock(mutex_);
    if (error_) return *error_;
    return {};
  }

 private:
  void End(std::optional<Error> error) {
    const std::lock_guard lock(mutex_);
    if (over_.exchange(true, std::memory_order_acq_rel)) return;
    error_ = std::move(error);
    ended_.release();
  }

  std::mutex mutex_;
  std::atomic<bool> over_{true};
  std::optional<Error> error_;
  std::binary_semaphore ended_{0};
};

}  // namespace penstock::graph
