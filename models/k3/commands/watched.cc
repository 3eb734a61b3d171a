#include "models/k3/commands/watched.h"

#include <string>

#include "runtime/process/stop_request.h"

namespace penstock::k3 {

int RunWatched(Console& console, const std::function<Status(const PackWatch& watch)>& work) {
  StopRequest stop;
  if (const Status listens = stop.Listen(); !listens) return console.Fail(listens.error());
  PackWatch watch;
  std::string doing;
  watch.begin = [&](const std::string& what, uint64_t total, uint64_t done_already) {
    console.EndProgress();
    console.StartProgress("MiB", total / kMiB);
    doing = what;
    console.Advance(done_already / kMiB, doing);
  };
  watch.advance = [&](uint64_t done) { console.Advance(done / kMiB, doing); };
  watch.stop = [&] { return stop.requested(); };
  watch.notice = console.notice();
  const Status done = work(watch);
  console.EndProgress();
  if (done) return 0;
  const int code = console.Fail(done.error());
  return done.error().code == ErrorCode::kCancelled ? stop.ExitCode(code) : code;
}

}  // namespace penstock::k3
