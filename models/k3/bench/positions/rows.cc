#include <fmt/format.h>

#include "models/k3/bench/cells.h"
#include "models/k3/bench/positions/positions.h"
#include "runtime/measure/measure.h"

namespace penstock::k3 {
namespace {

constexpr const char* kLine = "{:<22} {:>10} {:>10} {:>7} {:>7} {:>15} {:>10} {:>11} {:>10}\n";

std::string Accepted(const PositionsRow& row) {
  return row.drafted == 0 ? "-" : fmt::format("{}/{}", row.accepted, row.drafted);
}

}  // namespace

std::string PositionsTable(const PositionsResult& result) {
  std::string out = fmt::format(fmt::runtime(kLine), "", "positions/s", "", "", "ratio", "",
                                "accepted", "GB", "bound");
  out += fmt::format(fmt::runtime(kLine), "arm", "best", "median", "spread", "median",
                     "middle half", "/drafted", "a position", "pos./s");
  for (const PositionsRow& row : result.rows) {
    out += fmt::format(
        fmt::runtime(kLine), row.arm, fmt::format("{:.3f}", row.best),
        fmt::format("{:.3f}", row.median), fmt::format("{:.1f}%", 100 * row.spread),
        Factor(row.ratio, 3),
        row.ratio ? fmt::format("{:.3f}..{:.3f}", *row.ratio_low, *row.ratio_high) : "-",
        Accepted(row), fmt::format("{:.4f}", row.bytes * 1e-9), Factor(row.bound, 3));
  }
  const ChunkFigures& chunks = result.chunks;
  out += fmt::format(
      "prompt: {} chunks of at most {} positions; {} different experts, {} of them in the cache, "
      "{} "
      "bytes each: {} bytes read, no other\n",
      chunks.chunks, chunks.positions, chunks.unique_experts, chunks.found, chunks.one_expert,
      chunks.expert_bytes);
  if (result.cpu_lost > kMostCpuLost) {
    out += fmt::format("neighbours took {:.0f} % of a CPU: these figures say little\n",
                       100 * result.cpu_lost);
  }
  return out;
}

Json PositionsJson(const PositionsResult& result) {
  Json rows = Json::array();
  for (const PositionsRow& row : result.rows) {
    rows.push_back({{"arm", row.arm},
                    {"best", row.best},
                    {"median", row.median},
                    {"spread", row.spread},
                    {"ratio", OrNull(row.ratio)},
                    {"ratio_low", OrNull(row.ratio_low)},
                    {"ratio_high", OrNull(row.ratio_high)},
                    {"drafted", row.drafted},
                    {"accepted", row.accepted},
                    {"bytes", row.bytes},
                    {"wasted", row.wasted},
                    {"bound", OrNull(row.bound)}});
  }
  const ChunkFigures& chunks = result.chunks;
  return {{"schema", "penstock.bench.positions.v1"},
          {"engine", result.engine},
          {"cpu_lost", result.cpu_lost},
          {"chunks",
           {{"positions", chunks.positions},
            {"chunks", chunks.chunks},
            {"unique_experts", chunks.unique_experts},
            {"found", chunks.found},
            {"expert_bytes", chunks.expert_bytes},
            {"one_expert", chunks.one_expert}}},
          {"rows", rows}};
}

}  // namespace penstock::k3
