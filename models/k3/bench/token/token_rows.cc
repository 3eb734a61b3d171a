#include <fmt/format.h>

#include "models/k3/bench/cells.h"
#include "models/k3/bench/token/token.h"
#include "runtime/measure/measure.h"
#include "runtime/size.h"

namespace penstock::k3 {
namespace {

std::string Pace(double rate) { return rate > 0 ? fmt::format("{:.2f} GB/s", rate * 1e-9) : "-"; }

}  // namespace

std::string TokenTable(const TokenResult& result) {
  std::string out = fmt::format(
      "{:<26} {:>10} {:>10} {:>7} {:>9} {:>11} {:>8} {:>8} {:>8} {:>8} {:>8} {:>7} {:>7}\n", "",
      "ms a step", "", "", "GB", "", "overlap", "", "/replay", "", "/plan", "/first", "");
  out += fmt::format(
      "{:<26} {:>10} {:>10} {:>7} {:>9} {:>11} {:>8} {:>8} {:>8} {:>8} {:>8} {:>7} {:>7}\n", "arm",
      "best", "median", "spread", "a step", "pace", "best", "median", "median", "low95", "median",
      "time", "bytes");
  for (const TokenRow& row : result.rows) {
    out += fmt::format(
        "{:<26} {:>10.2f} {:>10.2f} {:>6.1f}% {:>9.3f} {:>11} {:>8} {:>8} {:>8} {:>8} {:>8} {:>7} "
        "{:>7}\n",
        row.arm, row.best_ns * 1e-6, row.median_ns * 1e-6, 100 * row.spread, row.bytes * 1e-9,
        Pace(row.pace), Factor(row.overlap_best, 3), Factor(row.overlap_median, 3),
        Factor(row.replay_ratio, 3), Factor(row.replay_ratio_low, 3), Factor(row.plan_ratio, 3),
        Factor(row.x_first, 3), Factor(row.bytes_x_first, 3));
  }
  if (result.messages) {
    out += fmt::format(
        "graph: {} messages a step, {:.0f} ns of CPU each: {:.2f} % of the cores' time while a "
        "device "
        "of 7 GB/s reads a step\n",
        result.messages->a_step, result.messages->ns, 100 * result.messages->share);
  }
  if (result.cpu_lost > kMostCpuLost) {
    out += fmt::format("neighbours took {:.0f} % of a CPU: these figures say little\n",
                       100 * result.cpu_lost);
  }
  return out;
}

Json TokenJson(const TokenResult& result) {
  Json rows = Json::array();
  for (const TokenRow& row : result.rows) {
    rows.push_back({{"arm", row.arm},
                    {"best_ns", row.best_ns},
                    {"median_ns", row.median_ns},
                    {"spread", row.spread},
                    {"bytes", row.bytes},
                    {"pace", row.pace},
                    {"io_ns", row.io_ns},
                    {"overlap_best", OrNull(row.overlap_best)},
                    {"overlap_median", OrNull(row.overlap_median)},
                    {"replay_ratio", OrNull(row.replay_ratio)},
                    {"replay_ratio_low", OrNull(row.replay_ratio_low)},
                    {"plan_ns", OrNull(row.plan_ns)},
                    {"plan_ratio", OrNull(row.plan_ratio)},
                    {"x_first", OrNull(row.x_first)},
                    {"bytes_x_first", OrNull(row.bytes_x_first)}});
  }
  return {{"schema", "penstock.bench.token.v1"},
          {"engine", result.engine},
          {"cpu_lost", result.cpu_lost},
          {"messages", result.messages ? Json{{"a_step", result.messages->a_step},
                                              {"ns", result.messages->ns},
                                              {"share", result.messages->share}}
                                       : Json(nullptr)},
          {"rows", rows}};
}

}  // namespace penstock::k3
