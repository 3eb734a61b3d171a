#include "models/k3/bench/kernels/rows.h"

#include <fmt/format.h>

#include "models/k3/bench/cells.h"
namespace penstock::k3 {

std::string KernelTable(const KernelReport& report) {
  constexpr const char* kHead =
      "{:<12} {:<7} {:<12} {:>2}  {:>7} {:>7} {:>6}  {:<6} {:>5} {:>6}  {:>5} {:>6} {:>6} {:>6} "
      "{:>6}  {:>8}\n";
  std::string out = fmt::format(kHead, "", "", "", "", "GB/s", "", "", "share", "of", "of", "", "",
                                "", "", "", "");
  out += fmt::format(kHead, "kernel", "isa", "shape", "T", "best", "median", "spread", "bound",
                     "it", "read-1", "x one", "xplain", "xtable", "x int8", "xeigen", "error");
  for (const KernelRow& row : report.rows) {
    out += fmt::format(
        "{:<12} {:<7} {:<12} {:>2}  {:>7.2f} {:>7.2f} {:>5.1f}%  {:<6} {:>5.3f} {:>6}  {:>5} {:>6} "
        "{:>6} {:>6} {:>6}  {:>8}\n",
        row.kernel, row.isa.empty() ? "-" : row.isa, row.shape.empty() ? "-" : row.shape,
        row.positions, row.gbps_best, row.gbps_median, 100 * row.spread, row.bound, row.of_bound,
        Factor(row.of_read1), Factor(row.x_one), Factor(row.x_plain), Factor(row.x_table),
        Factor(row.x_int8), Factor(row.x_eigen),
        row.error ? fmt::format("{:.1e}", *row.error) : "-");
  }
  return out;
}

Json KernelJson(const KernelReport& report) {
  Json rows = Json::array();
  for (const KernelRow& row : report.rows) {
    rows.push_back({{"kernel", row.kernel},
                    {"isa", row.isa},
                    {"shape", row.shape},
                    {"positions", row.positions},
                    {"bytes", row.bytes},
                    {"gbps_best", row.gbps_best},
                    {"gbps_median", row.gbps_median},
                    {"spread", row.spread},
                    {"bound", row.bound},
                    {"of_bound", row.of_bound},
                    {"of_read1", OrNull(row.of_read1)},
                    {"x_one", OrNull(row.x_one)},
                    {"x_plain", OrNull(row.x_plain)},
                    {"x_table", OrNull(row.x_table)},
                    {"x_int8", OrNull(row.x_int8)},
                    {"x_eigen", OrNull(row.x_eigen)},
                    {"error", OrNull(row.error)}});
  }
  return {{"schema", kKernelBenchSchema},
          {"rounds", report.rounds},
          {"cpu_lost", report.cpu_lost},
          {"rows", std::move(rows)}};
}

}  // namespace penstock::k3
