#include "runtime/measure/measure.h"

#include <utility>

#include "runtime/check.h"

namespace penstock {

std::function<double()> Timed(Clock clock, std::function<void()> work) {
  return [clock, work = std::move(work)] {
    const uint64_t start = NowNs(clock);
    work();
    return static_cast<double>(NowNs(clock) - start);
  };
}

Result<Measured> Measure(std::span<const Arm> arms, const MeasureOptions& options) {
  PENSTOCK_CHECK(!arms.empty() && options.rounds > 0);
  Measured out;
  out.samples.resize(arms.size());
  for (auto& samples : out.samples) samples.reserve(options.rounds);
  CpuTime busy;
  size_t done = 0;
  const size_t total = (options.rounds + 1) * arms.size();
  for (size_t round = 0; round <= options.rounds; ++round) {
    const bool warm_up = round == 0;
    for (size_t i = 0; i < arms.size(); ++i) {
      if (options.go_on && !options.go_on(done, total)) {
        return Cancelled("the measurement was stopped");
      }
      const size_t arm = (round + i) % arms.size();
      const double ns = arms[arm].run();
      if (!warm_up) out.samples[arm].push_back(ns);
      ++done;
    }
    if (!options.calibrate || warm_up) continue;
    const CpuTime part = options.calibrate();
    busy.wall_ns += part.wall_ns;
    busy.cpu_ns += part.cpu_ns;
  }
  out.cpu_lost = LostShare(busy);
  return out;
}

}  // namespace penstock
