#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_scheduler_observer.h>
#include <sched.h>

namespace penstock::graph {

// The threads that run a graph: `threads` workers, each allowed on the whole set `cpus`.
//
// The thread that waits for a step is no worker, so the arena reserves no slot for it and the pool
// is allowed one thread more than the slots: with TBB's defaults a machine with one CPU has no
// worker at all, and a caller that blocks elsewhere costs a core. Workers are pinned to the mask of
// the set, not one to a core: pinning by slot leaves a core idle when workers are fewer than slots.
// Start I/O threads first: this object changes the affinity of its own workers only, but threads
// that TBB creates inherit the mask of whoever wakes them.
class Arena {
 public:
  // `cpus` may be empty: the workers may run wherever the caller may. threads >= 1.
  Arena(size_t threads, const std::vector<int>& cpus);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  oneapi::tbb::task_arena& tbb() { return arena_; }
  size_t threads() const { return threads_; }

  // Distinct workers that have entered so far.
  size_t workers_seen() const;

 private:
  class Pinning;
  size_t threads_;
  oneapi::tbb::global_control limit_;
  oneapi::tbb::task_arena arena_;
  std::unique_ptr<Pinning> pinning_;
};

}  // namespace penstock::graph
