#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "io/options.h"
#include "io/reader.h"
#include "runtime/memory/region.h"
#include "tests/runtime/notices.h"

namespace penstock::io {

// Collects what a Reader delivers, and waits for it.
class Outcomes {
 public:
  struct Outcome {
    int calls = 0;
    std::optional<Error> error;
    BufferRef bytes;
    std::thread::id thread;
  };

  // The `done` of read `index`. The object must outlive it.
  Reader::Done Of(size_t index) {
    const std::lock_guard lock(mutex_);
    if (outcomes_.size() <= index) outcomes_.resize(index + 1);
    return [this, index](Result<BufferRef> result) {
      const std::lock_guard inner(mutex_);
      Outcome& outcome = outcomes_[index];
      ++outcome.calls;
      ++calls_;
      outcome.thread = std::this_thread::get_id();
      if (result) {
        outcome.bytes = std::move(*result);
      } else {
        outcome.error = std::move(result.error());
      }
      order_.push_back(index);
      changed_.notify_all();
    };
  }

  // False when fewer than `calls` came within a minute: a hang.
  bool WaitFor(size_t calls) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(1), [&] { return calls_ >= calls; });
  }

  Outcome operator[](size_t index) {
    const std::lock_guard lock(mutex_);
    return outcomes_[index];
  }
  BufferRef Take(size_t index) {
    const std::lock_guard lock(mutex_);
    return std::exchange(outcomes_[index].bytes, {});
  }
  std::vector<size_t> order() {
    const std::lock_guard lock(mutex_);
    return order_;
  }
  size_t calls() {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Outcome> outcomes_;
  std::vector<size_t> order_;
  size_t calls_ = 0;
};

inline IoOptions OptionsOf(const std::string& engine, uint64_t block_bytes = 64 * kKiB) {
  IoOptions options;
  options.ioengine = engine;
  options.bs.bytes = block_bytes;
  return options;
}

inline MutableBuffer BufferFor(const Reader& reader, const Extent& extent) {
  auto buffer = AllocateBuffer(reader.BufferBytes(extent));
  EXPECT_TRUE(buffer);
  return std::move(*buffer);
}

}  // namespace penstock::io
