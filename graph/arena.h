#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_scheduler_observer.h>
#include <sched.h>

#include "graph/handover.h"

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
  // `cpus` may be empty: the workers may run wherever the caller may. threads >= 1. `others`: workers
  // of the arenas that live at the same time; each of them must be told of all the rest, because the
  // smallest limit of a process holds. `name`: of its workers, at most 15 characters, as the kernel
  // shows it (top -H, /proc).
  Arena(size_t threads, const std::vector<int>& cpus, size_t others = 0,
        const char* name = "penstock-worker");
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  oneapi::tbb::task_arena& tbb() { return arena_; }

  // Runs `work` on a worker of this arena, sooner or later. From any thread. Whoever needs to know
  // that it is over makes the work say so; it must not throw.
  template <class Work>
  void Enqueue(Work work) {
    Handover::Give();
    arena_.enqueue([work = std::move(work)] {
      Handover::Take();
      work();
    });
  }

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
