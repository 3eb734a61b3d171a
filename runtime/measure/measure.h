#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/measure/clock.h"
#include "runtime/result.h"

namespace penstock {

// One of the things that are compared.
struct Arm {
  std::string name;
  std::function<double()> run;  // Does it once and answers the nanoseconds it took (Timed).
};

// `work` with a look at the clock before and after.
std::function<double()> Timed(Clock clock, std::function<void()> work);

struct MeasureOptions {
  size_t rounds = 9;
  // Asked before each run with how many are done of how many; false ends the measurement.
  std::function<bool(size_t done, size_t total)> go_on;
  // Run once in each round, between the arms: how much CPU neighbours take meanwhile.
  std::function<CpuTime()> calibrate = [] { return BusyLoop(Duration{10'000'000}); };
};

struct Measured {
  std::vector<std::vector<double>> samples;  // [arm][round], nanoseconds
  double cpu_lost = 0;                       // LostShare of all rounds together.
};

// A measurement that lost more than this is told of: its medians say little.
inline constexpr double kMostCpuLost = 0.05;

// Runs every arm once a round, interleaved, so that a disturbance of the machine meets all of them
// alike and two arms can be compared round by round. Round r begins with arm r (modulo their
// number): no arm always runs behind the same other one's caches and clock frequency. A first round
// in which pages and caches become warm is dropped.
// kCancelled when go_on says so. Everything runs on the calling thread.
Result<Measured> Measure(std::span<const Arm> arms, const MeasureOptions& options);

}  // namespace penstock
