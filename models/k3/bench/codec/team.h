#pragma once

#include <barrier>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "runtime/result.h"

namespace penstock::k3 {

// Threads on CPUs of their own that do one thing together, again and again. Made and used by one
// thread, which counts as the first of them.
class Team {
 public:
  // One for each CPU; the calling thread is pinned to the first.
  static Result<std::unique_ptr<Team>> Start(std::span<const unsigned> cpus);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  size_t size() const { return size_; }

  // work(0), work(1), ... at the same time; returns when all have returned.
  void Run(const std::function<void(size_t member)>& work);

 private:
  explicit Team(size_t size);
  void Serve(size_t member, unsigned cpu);

  const size_t size_;
  std::barrier<> begin_, end_;
  const std::function<void(size_t)>* work_ = nullptr;  // Null at `begin_`: it is over.
  std::vector<Status> pinned_;                         // [member]
  std::vector<std::thread> threads_;
};

}  // namespace penstock::k3
