#include "graph/arena.h"

#include <algorithm>
#include <cstdint>

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
    // TBB keeps its threads: one that served another arena before has still to be pinned for this one.
    thread_local uint64_t pinned_for = 0;
    if (pinned_for == number_) return;
    pinned_for = number_;
    workers_.fetch_add(1, std::memory_order_relaxed);
    if (cpus_.empty()) return;
    cpu_set_t mask;
    CPU_ZERO(&mask);
    for (const int cpu : cpus_) CPU_SET(cpu, &mask);
    sched_setaffinity(0, sizeof(mask), &mask);  // Refused only if the set was taken away meanwhile.
  }

  size_t workers() const { return workers_.load(std::memory_order_relaxed); }

 private:
  static uint64_t NextNumber() {
    static std::atomic<uint64_t> last{0};
    return ++last;
  }

  const uint64_t number_ = NextNumber();  // Not the address: those are used again.
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
