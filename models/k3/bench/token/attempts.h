#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/k3/bench/hooks.h"
#include "models/k3/bench/token/token.h"
#include "runtime/measure/measure.h"

namespace penstock::k3 {

// An arm that may fail: nanoseconds of one step, or why there was none.
struct Attempt {
  std::string name;
  std::function<Result<double>()> run;
};

// Measure of such arms; the first failure ends it and is the result. `stage`: for the progress.
Result<Measured> MeasureAttempts(std::span<const Attempt> attempts, size_t rounds,
                                 const BenchHooks& hooks,
                                 std::string_view stage = "token: measuring");

// A row with what the samples alone say.
TokenRow RowOf(const std::string& arm, std::span<const double> samples);

}  // namespace penstock::k3
