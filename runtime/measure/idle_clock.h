#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "runtime/measure/clock.h"

namespace penstock {

// How long no work ran at all, charged to the kind of work whose start ended the wait: a
// thread-safe answer to "what was everybody waiting for" at two clock reads for each idle interval.
// Threads: Enter and Leave from any; Begin and idle_ns while no work runs.
template <size_t kKinds>
class IdleClock {
 public:
  // From here on nobody works; earlier totals are cleared.
  void Begin() {
    for (auto& idle : idle_ns_) idle.store(0, std::memory_order_relaxed);
    since_.store(Now(), std::memory_order_relaxed);
  }

  void Enter(size_t kind) {
    if (active_.fetch_add(1, std::memory_order_acq_rel) != 0) return;
    const uint64_t since = since_.load(std::memory_order_relaxed);
    const uint64_t now = Now();
    if (now > since) idle_ns_[kind].fetch_add(now - since, std::memory_order_relaxed);
  }

  void Leave() {
    since_.store(Now(), std::memory_order_relaxed);
    active_.fetch_sub(1, std::memory_order_acq_rel);
  }

  uint64_t idle_ns(size_t kind) const { return idle_ns_[kind].load(std::memory_order_relaxed); }

 private:
  static uint64_t Now() { return NowNs(Clock::kWall); }

  std::atomic<int64_t> active_{0};
  std::atomic<uint64_t> since_{0};
  std::array<std::atomic<uint64_t>, kKinds> idle_ns_{};
};

}  // namespace penstock
