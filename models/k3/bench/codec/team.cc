#include "models/k3/bench/codec/team.h"

#include "runtime/cpu/affinity.h"

namespace penstock::k3 {

Team::Team(size_t size)
    : size_(size),
      begin_(static_cast<std::ptrdiff_t>(size)),
      end_(static_cast<std::ptrdiff_t>(size)),
      pinned_(size) {}

Result<std::unique_ptr<Team>> Team::Start(std::span<const unsigned> cpus) {
  std::unique_ptr<Team> team(new Team(cpus.size()));
  PENSTOCK_TRY_VOID(PinThisThread({{cpus.front()}}));
  for (size_t member = 1; member < cpus.size(); ++member) {
    team->threads_.emplace_back(
        [team = team.get(), member, cpu = cpus[member]] { team->Serve(member, cpu); });
  }
  team->Run([](size_t) {});  // All have been pinned by then.
  for (const Status& pinned : team->pinned_) PENSTOCK_TRY_VOID(pinned);
  return team;
}

Team::~Team() {
  if (threads_.empty()) return;
  work_ = nullptr;
  // In the place of those that could not be started.
  for (size_t member = threads_.size() + 1; member < size_; ++member) begin_.arrive_and_drop();
  begin_.arrive_and_wait();
  for (std::thread& thread : threads_) thread.join();
}

void Team::Run(const std::function<void(size_t member)>& work) {
  work_ = &work;
  begin_.arrive_and_wait();
  work(0);
  end_.arrive_and_wait();
}

void Team::Serve(size_t member, unsigned cpu) {
  pinned_[member] = PinThisThread({{cpu}});
  for (;;) {
    begin_.arrive_and_wait();
    if (work_ == nullptr) return;
    (*work_)(member);
    end_.arrive_and_wait();
  }
}

}  // namespace penstock::k3
