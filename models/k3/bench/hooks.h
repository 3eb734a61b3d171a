#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "runtime/notice.h"

namespace penstock::k3 {

// What a benchmark tells while it runs.
struct BenchProgress {
  std::string_view stage;  // "syn: measuring"
  std::string_view unit;   // Of done and total, in the plural.
  uint64_t done = 0;
  uint64_t total = 0;
};

struct BenchHooks {
  Notice notice;
  // Called often, on the caller's thread; false ends the benchmark with kCancelled.
  std::function<bool(const BenchProgress&)> progress;
  // Whether somebody wants it to end; from any thread. May be empty.
  std::function<bool()> stopped = {};
};

}  // namespace penstock::k3
