#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/queue/measure/demand_latency.h"
#include "runtime/options/options.h"

namespace penstock::k3 {

// What the arms of `penstock bench io` cost. Rates are GB (1e9 bytes) a second by the wall.
struct IoRow {
  std::string arm;  // "io_uring", "pread", "fio 4M qd16 fixed"
  std::string how;  // As the Reader describes itself; fio's arguments.
  double gbps_best = 0;
  double gbps_median = 0;
  double spread = 0;              // Middle half of the samples over their median.
  double cpu_seconds_per_gb = 0;  // Median; of the process, or of fio's job.
  // Its best over the best of all arms of fio; and, the median over the rounds, over that arm of fio
  // which has the best median.
  std::optional<double> fio_best_ratio = std::nullopt;
  std::optional<double> fio_median_ratio = std::nullopt;
};

struct IoReport {
  std::vector<std::string> files;  // That were read, in turns.
  uint64_t run_bytes = 0;
  uint64_t rounds = 0;
  double cpu_lost = 0;  // The share of a CPU that neighbours took meanwhile.
  std::string fio;      // Its version, or why it did not run.
  std::vector<IoRow> rows;
  // What the kernel counted as read from the device meanwhile, by everybody, over what was asked for.
  std::optional<double> kernel_bytes_ratio;
  std::string pace;  // Of the demanded reads.
  std::optional<io::DemandLatency> demanded;
};

std::string IoTable(const IoReport& report);
Json IoJson(const IoReport& report);  // Schema penstock.bench.io.v1.

}  // namespace penstock::k3
