#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/measure/clock.h"

namespace penstock {

// One time in which nothing ran, and the kind of work that ended it.
struct IdleSpan {
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
  uint32_t kind = 0;
};

// How long no work ran at all, charged to the kind of work whose start ended the wait: a
// thread-safe answer to "what was everybody waiting for" at two clock reads for each idle interval.
// Threads: Enter and Leave from any; Begin, spans and idle_ns while no work runs.
template <size_t kKinds>
class IdleClock {
 public:
  // Keeps the first `spans` intervals after each Begin, in memory that is allocated here.
  explicit IdleClock(size_t spans = 0) : spans_(spans) {}

  // From here on nobody works; earlier totals are cleared.
  void Begin() {
    for (auto& idle : idle_ns_) idle.store(0, std::memory_order_relaxed);
    used_.store(0, std::memory_order_relaxed);
    since_.store(Now(), std::memory_order_relaxed);
  }

  void Enter(size_t kind) {
    if (active_.fetch_add(1, std::memory_order_acq_rel) != 0) return;
    const uint64_t since = since_.load(std::memory_order_relaxed);
    const uint64_t now = Now();
    if (now <= since) return;
    idle_ns_[kind].fetch_add(now - since, std::memory_order_relaxed);
    // Nobody else comes here before this work has left: its number is still among the active.
    const size_t used = used_.load(std::memory_order_relaxed);
    if (used == spans_.size()) return;
    spans_[used] = {since, now, static_cast<uint32_t>(kind)};
    used_.store(used + 1, std::memory_order_relaxed);
  }

  void Leave() {
    since_.store(Now(), std::memory_order_relaxed);
    active_.fetch_sub(1, std::memory_order_acq_rel);
  }

  uint64_t idle_ns(size_t kind) const { return idle_ns_[kind].load(std::memory_order_relaxed); }

  // In order of time. What found no place is in idle_ns alone.
  std::span<const IdleSpan> spans() const {
    return std::span(spans_).first(used_.load(std::memory_order_relaxed));
  }
  // When the last work left.
  uint64_t since_ns() const { return since_.load(std::memory_order_relaxed); }

 private:
  static uint64_t Now() { return NowNs(Clock::kWall); }

  std::atomic<int64_t> active_{0};
  std::atomic<uint64_t> since_{0};
  std::array<std::atomic<uint64_t>, kKinds> idle_ns_{};
  std::atomic<size_t> used_{0};
  std::vector<IdleSpan> spans_;
};

}  // namespace penstock
