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
//  3. Nothing that a body does under a Claim happens after the return of Wait.
// Threads: Begin and Wait on the caller's thread; Finish, Fail, over() and Claim on any.
class Outcome {
 public:
  // For a body that changes what the caller looks at between runs. Empty when the run is over: then
  // it must leave its work undone. Else Wait returns after it has gone.
  class Claim {
   public:
    // Sequential consistency: either this sees that the run is over, or Wait sees this.
    explicit Claim(Outcome& outcome) : outcome_(outcome) {
      outcome_.claims_.fetch_add(1);
      goes_on_ = !outcome_.over_.load();
    }
    ~Claim() {
      if (outcome_.claims_.fetch_sub(1) == 1) outcome_.claims_.notify_all();
    }
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;
    explicit operator bool() const { return goes_on_; }

   private:
    Outcome& outcome_;
    bool goes_on_;
  };

  void Begin() {
    error_.reset();
    over_.store(false, std::memory_order_release);
  }

  void Finish() { End(std::nullopt); }
  void Fail(Error error) { End(std::move(error)); }

  bool over() const { return over_.load(std::memory_order_acquire); }

  Status Wait() {
    ended_.acquire();
    for (int left = claims_.load(); left != 0; left = claims_.load()) claims_.wait(left);
    const std::lock_guard lock(mutex_);
    if (error_) return *error_;
    return {};
  }

 private:
  void End(std::optional<Error> error) {
    const std::lock_guard lock(mutex_);
    if (over_.exchange(true)) return;
    error_ = std::move(error);
    ended_.release();
  }

  std::mutex mutex_;
  std::atomic<bool> over_{true};
  std::atomic<int> claims_{0};
  std::optional<Error> error_;
  std::binary_semaphore ended_{0};
};

}  // namespace penstock::graph
