#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <queue>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <sys/prctl.h>

#include "io/engines/io_thread.h"

namespace penstock::io {

// Holds items back until they are due and then hands them on, in order of due time (of arrival
// where equal), in batches, from a thread of its own.
//
// Invariants:
//  1. Each item is handed on exactly once, never inside Hold.
//  2. Stop hands on at once what is still held; when it returns, the receiver has returned.
// Threads: Hold may be called from any thread, also by the receiver; not after Stop began, except
// by the receiver while Stop runs.
template <class T>
class DelayLine {
 public:
  using Clock = std::chrono::steady_clock;
  using Receiver = std::function<void(std::span<const T>)>;

  // `name` has at most 15 letters.
  DelayLine(const char* name, Receiver receiver) : name_(name), receiver_(std::move(receiver)) {}
  ~DelayLine() { Stop(); }
  DelayLine(const DelayLine&) = delete;
  DelayLine& operator=(const DelayLine&) = delete;

  // Before the first Hold. `cpus` are its thread's; empty: those inherited.
  Status Start(const CpuSet& cpus) {
    return StartThread(&thread_, [this, cpus] { Run(cpus); });
  }

  void Hold(T item, Clock::time_point due) {
    const std::lock_guard lock(mutex_);
    held_.push({due, next_arrival_++, std::move(item)});
    if (held_.top().arrival == next_arrival_ - 1) wake_.notify_one();
  }

  void Stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

 private:
  struct Held {
    Clock::time_point due;
    uint64_t arrival;
    T item;
    bool operator<(const Held& other) const {  // The heap's top is the earliest.
      return due != other.due ? due > other.due : arrival > other.arrival;
    }
  };

  void Run(const CpuSet& cpus) {
    PrepareIoThread(name_, cpus, Notice());  // The engine's thread tells what the kernel refuses.
    prctl(PR_SET_TIMERSLACK, 1000);          // 1 us: the default adds 50 us to every wait.
    std::vector<T> batch;
    std::unique_lock lock(mutex_);
    for (;;) {
      while (!held_.empty() && (stopping_ || held_.top().due <= Clock::now())) {
        batch.push_back(held_.top().item);
        held_.pop();
      }
      if (!batch.empty()) {
        lock.unlock();
        receiver_(batch);
        batch.clear();
        lock.lock();
      } else if (!held_.empty()) {
        const Clock::time_point due = held_.top().due;  // The heap may move while this waits.
        wake_.wait_until(lock, due);
      } else if (stopping_) {
        return;
      } else {
        wake_.wait(lock);
      }
    }
  }

  const char* const name_;
  const Receiver receiver_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::priority_queue<Held> held_;
  uint64_t next_arrival_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace penstock::io
