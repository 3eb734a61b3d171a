#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "io/engines/engine.h"

namespace penstock::io {

// An engine without a disk, whose clock the test moves: it serves one read after the other, a byte
// a nanosecond, and tells of a read so much later than its last byte as a busy machine takes to
// wake a thread. Reads nothing. Threads: one.
class VirtualDevice final : public Engine {
 public:
  explicit VirtualDevice(uint64_t wake_up_ns) : wake_up_ns_(wake_up_ns) {}

  void Start(Sink sink) override { sink_ = std::move(sink); }
  void Submit(std::span<const EngineRead> reads) override {
    for (const EngineRead& read : reads) {
      if (now_ > free_) idle_ns_ += now_ - free_;
      free_ = std::max(free_, now_) + read.bytes;
      reads_.push_back({read, free_});
      in_flight_bytes_ += read.bytes;
    }
  }
  void Stop() override {
    while (Step()) {
    }
  }
  std::string Describe() const override { return "virtual"; }

  // Tells of the next read that ends; false when there is none.
  bool Step() {
    if (reads_.empty()) return false;
    const auto [read, end] = reads_.front();
    reads_.pop_front();
    now_ = std::max(now_, end + wake_up_ns_);
    in_flight_bytes_ -= read.bytes;
    const Completion completion{read.cookie, read.bytes, read.data};
    sink_({&completion, 1});
    return true;
  }
  void RunUntil(uint64_t time) {
    while (!reads_.empty() && reads_.front().second + wake_up_ns_ <= time) Step();
    now_ = std::max(now_, time);
  }

  uint64_t now() const { return now_; }
  uint64_t idle_ns() const { return idle_ns_; }  // Between a read and one submitted later.
  uint64_t in_flight_bytes() const { return in_flight_bytes_; }  // Not told of yet.

 private:
  const uint64_t wake_up_ns_;
  Sink sink_;
  std::deque<std::pair<EngineRead, uint64_t>> reads_;  // With the time of the last byte.
  uint64_t now_ = 0;
  uint64_t free_ = 0;  // When all that was submitted is served.
  uint64_t idle_ns_ = 0;
  uint64_t in_flight_bytes_ = 0;
};

}  // namespace penstock::io
