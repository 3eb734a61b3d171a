#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/options/options.h"

namespace penstock::k3 {

inline constexpr const char* kKernelBenchSchema = "penstock.bench.kernels.v1";

// A result of `penstock bench kernels`. Rates are GB (1e9 bytes) moved for each second of CPU time
// of the one thread, ratios those of the bests of one run.
struct KernelRow {
  std::string kernel;    // "mxfp4", "mxfp4-table", "bf16", "kda", "attention", "read-4", "memcpy"
  std::string isa;       // Instruction set of the kernel; empty where there is no choice.
  std::string shape;     // "3072x3584"
  size_t positions = 1;  // Vectors that are multiplied in one pass over the weights.
  size_t bytes = 0;      // Read and written in a run.
  double gbps_best = 0;
  double gbps_median = 0;
  double spread = 0;               // Middle half of the samples over their median.
  std::string bound;               // "read" or "memcpy", in the same run.
  double of_bound = 0;             // Rate over the bound's, both the best.
  std::optional<double> of_read1;  // The same over one linear stream.
  std::optional<double> x_one;     // Positions a second over those of one vector.
  std::optional<double> x_plain;   // Over the plain loops in double,
  std::optional<double> x_table;   // the look-up in a table,
  std::optional<double> x_int8;    // the lossy product by 8-bit integers,
  std::optional<double> x_eigen;   // and Eigen's cast.
  std::optional<double> error;     // Largest error over the sum of |w x|, on 64 drawn rows.
};

struct KernelReport {
  std::vector<KernelRow> rows;
  double cpu_lost = 0;  // The share of a CPU that neighbours took meanwhile.
  size_t rounds = 0;
};

std::string KernelTable(const KernelReport& report);
// {"schema": kKernelBenchSchema, "rounds", "cpu_lost", "rows": [...]}; what is not there is null.
Json KernelJson(const KernelReport& report);

}  // namespace penstock::k3
