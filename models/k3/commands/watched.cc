#include "models/k3/commands/watched.h"

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
  watch.begin = [&](const std::string& what, const std::string& unit, uint64_t total) {
    console.EndProgress();
    console.StartProgress(unit, total);
    console.Advance(0, what);
  };
  watch.advance = [&](uint64_t done) { console.Advance(done / kMiB, ""); };
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
