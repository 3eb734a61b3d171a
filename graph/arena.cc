#include "graph/arena.h"

#include <algorithm>

namespace penstock::graph {

class Arena::Pinning : public oneapi::tbb::task_scheduler_observer {
 public:
  Pinning(oneapi::tbb::task_arena& arena, std::vector<int> cpus)
      : oneapi::tbb::task_scheduler_observer(arena), cpus_(std::move(cpus)) {
    observe(true);
  }
  ~Pinning() override { observe(false); }

  void on_scheduler_entry(bool is_worker) override {
    if (!is_worker) return;  // `execute` brings the caller in; its affinity is not ours.
    thread_local const Pinning* pinned_for = nullptr;
    if (pinned_for == this) return;
    pinned_for = this;
    workers_.fetch_add(1, std::memory_order_relaxed);
    if (cpus_.empty()) return;
    cpu_set_t mask;
    CPU_ZERO(&mask);
    for (const int cpu : cpus_) CPU_SET(cpu, &mask);
    sched_setaffinity(0, sizeof(mask), &mask);  // Refused only if the set was taken away meanwhile.
  }

  size_t workers() const { return workers_.load(std::memory_order_relaxed); }

 private:
  std::vector<int> cpus_;
  std::atomic<size_t> workers_{0};
};

Arena::Arena(size_t threads, std::vector<int> cpus)
    : threads_(threads),
      limit_(oneapi::tbb::global_control::max_allowed_parallelism,
             std::max<size_t>(2, threads + 1)),
      arena_(static_cast<int>(threads), 0),
      pinning_(std::make_unique<Pinning>(arena_, std::move(cpus))) {}

Arena::~Arena() = default;

size_t Arena::workers_seen() const { return pinning_->workers(); }

}  // namespace penstock::graph
