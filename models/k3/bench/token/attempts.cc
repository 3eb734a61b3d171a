#include "models/k3/bench/token/attempts.h"

#include <optional>

#include "runtime/measure/statistics.h"

namespace penstock::k3 {

Result<Measured> MeasureAttempts(std::span<const Attempt> attempts, size_t rounds,
                                 const BenchHooks& hooks, std::string_view stage) {
  std::optional<Error> error;
  std::vector<Arm> arms;
  for (const Attempt& attempt : attempts) {
    arms.push_back({attempt.name, [&error, &attempt] {
                      if (error) return 0.0;
                      const Result<double> ns = attempt.run();
                      if (ns) return *ns;
                      error = ns.error();
                      return 0.0;
                    }});
  }
  MeasureOptions measure;
  measure.rounds = rounds;
  measure.go_on = [&](size_t done, size_t total) {
    const bool go_on = !hooks.progress || hooks.progress({stage, "samples", done, total});
    return go_on && !error;
  };
  Result<Measured> measured = Measure(arms, measure);
  if (error) return std::move(*error);
  return measured;
}

TokenRow RowOf(const std::string& arm, std::span<const double> samples) {
  const Summary summary = Summarize(samples);
  TokenRow row;
  row.arm = arm;
  row.best_ns = summary.best;
  row.median_ns = summary.median;
  row.spread = summary.spread;
  return row;
}

}  // namespace penstock::k3
