#include "models/k3/commands/watched.h"

#include <string>

namespace penstock::k3 {
namespace {

// What is under way is ended, and brought to the device, before the program goes.
constexpr Duration kGrace{10'000'000'000};

}  // namespace

int RunWatched(Console& console, const std::function<Status(const PackWatch& watch)>& work) {
  std::atomic<bool> stop{false};
  const auto signals =
      StopSignals::Start({.on_stop = [&](int) { stop = true; }, .on_give_up = {}, .grace = kGrace});
  if (!signals) return console.Fail(signals.error());
  PackWatch watch;
  std::string doing;
  watch.begin = [&](const std::string& what, uint64_t total, uint64_t done_already) {
    console.EndProgress();
    console.StartProgress("MiB", total / kMiB);
    doing = what;
    console.Advance(done_already / kMiB, doing);
  };
  watch.advance = [&](uint64_t done) { console.Advance(done / kMiB, doing); };
  watch.stop = [&] { return stop.load(); };
  watch.notice = console.notice();
  const Status done = work(watch);
  console.EndProgress();
  if (done) return 0;
  const int code = console.Fail(done.error());
  return (*signals)->received() != 0 && done.error().code == ErrorCode::kCancelled
             ? 128 + (*signals)->received()
             : code;
}

}  // namespace penstock::k3
