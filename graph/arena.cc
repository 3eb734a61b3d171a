#include "graph/arena.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include <sys/prctl.h>

#include "graph/handover.h"
#include "runtime/cpu/subnormals.h"

namespace penstock::graph {

class Arena::Pinning : public oneapi::tbb::task_scheduler_observer {
 public:
  Pinning(oneapi::tbb::task_arena& arena, const std::vector<int>& cpus, const char* name)
      : oneapi::tbb::task_scheduler_observer(arena), name_(name), mask_(MaskOf(cpus)) {
    Handover::Give();
    observe(true);
  }
  ~Pinning() override {
    observe(false);
    Handover::Take();
  }

  void on_scheduler_entry(bool is_worker) override {
    Handover::Take();
    KeepSubnormals();      // Before any arithmetic on this thread.
    if (is_worker) Pin();  // `execute` brings the caller in; its affinity is not ours.
    Handover::Give();
  }

  size_t workers() const { return workers_.load(std::memory_order_relaxed); }

 private:
  // TBB keeps its threads: one that served another arena before has still to be pinned for this
  // one, and to get all CPUs back where this one pins nothing.
  void Pin() {
    thread_local uint64_t pinned_for = 0;
    if (pinned_for == number_) return;
    pinned_for = number_;
    workers_.fetch_add(1, std::memory_order_relaxed);
    prctl(PR_SET_NAME, name_.c_str());
    sched_setaffinity(0, sizeof(mask_), &mask_);  // Refused only if the set was taken away.
  }

  static cpu_set_t MaskOf(const std::vector<int>& cpus) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    if (cpus.empty()) sched_getaffinity(0, sizeof(mask), &mask);
    for (const int cpu : cpus) CPU_SET(cpu, &mask);
    return mask;
  }

  static uint64_t NextNumber() {
    static std::atomic<uint64_t> last{0};
    return ++last;
  }

  const uint64_t number_ = NextNumber();  // Not the address: those are used again.
  const std::string name_;
  const cpu_set_t mask_;
  std::atomic<size_t> workers_{0};
};

Arena::Arena(size_t threads, const std::vector<int>& cpus, size_t others, const char* name)
    : threads_(threads),
      limit_(oneapi::tbb::global_control::max_allowed_parallelism,
             std::max<size_t>(2, threads + others + 1)),
      arena_(static_cast<int>(threads), 0),
      pinning_(std::make_unique<Pinning>(arena_, cpus, name)) {}

Arena::~Arena() = default;

size_t Arena::workers_seen() const { return pinning_->workers(); }

}  // namespace penstock::graph
