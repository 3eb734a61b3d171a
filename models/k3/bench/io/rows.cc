#include "models/k3/bench/io/rows.h"

#include <algorithm>

#include <fmt/format.h>

#include "models/k3/bench/cells.h"
#include "runtime/machine/facts.h"
#include "runtime/size.h"

namespace penstock::k3 {
namespace {

std::string DemandedLines(const IoReport& report) {
  const io::DemandLatency& demanded = *report.demanded;
  const auto ms = [&](double q) { return demanded.PercentileNs(q) / 1e6; };
  const double bound = demanded.bound_ns / 1e6;
  return fmt::format(
      "demanded reads while the trunk keeps a device of {}/s busy at {:.3f} of its rate:\n"
      "  {} of them, p50 {:.2f} ms, p99 {:.2f} ms; (W + bytes) / rate = {:.2f} ms with W = {}; "
      "p99 is {:.3f} of it\n",
      report.pace, demanded.device_share, demanded.ns.size(), ms(0.5), ms(0.99), bound,
      FormatSize({demanded.window_bytes}), ms(0.99) / bound);
}

Json RowJson(const IoRow& row) {
  return {{"arm", row.arm},
          {"how", row.how},
          {"gbps_best", row.gbps_best},
          {"gbps_median", row.gbps_median},
          {"spread", row.spread},
          {"cpu_s_per_gb", row.cpu_seconds_per_gb},
          {"fio_best_ratio", OrNull(row.fio_best_ratio)},
          {"fio_median_ratio", OrNull(row.fio_median_ratio)}};
}

Json DemandedJson(const IoReport& report) {
  if (!report.demanded) return nullptr;
  const io::DemandLatency& demanded = *report.demanded;
  return {{"pace", report.pace},
          {"window_bytes", demanded.window_bytes},
          {"bytes_per_second", demanded.bytes_per_second},
          {"demands", demanded.ns.size()},
          {"p50_ns", demanded.PercentileNs(0.5)},
          {"p99_ns", demanded.PercentileNs(0.99)},
          {"bound_ns", demanded.bound_ns},
          {"p99_ratio", demanded.PercentileNs(0.99) / demanded.bound_ns},
          {"device_share", demanded.device_share},
          {"cpu_lost", demanded.cpu_lost}};
}

}  // namespace

std::string IoTable(const IoReport& report) {
  std::string out;
  if (!report.rows.empty()) {
    out += fmt::format("{} rounds, {} a run, {} file{}; {}\n", report.rounds,
                       DescribeSize(report.run_bytes), report.files.size(),
                       report.files.size() == 1 ? "" : "s", report.fio);
    size_t width = 3;
    for (const IoRow& row : report.rows) width = std::max(width, row.arm.size());
    out += fmt::format("{:<{}}  {:>6} {:>6} {:>6}  {:>8}  {:>6} {:>6}\n", "", width, "GB/s", "", "",
                       "CPU", "xfio", "");
    out += fmt::format("{:<{}}  {:>6} {:>6} {:>6}  {:>8}  {:>6} {:>6}  {}\n", "arm", width, "best",
                       "median", "spread", "s/GB", "best", "median", "how");
    for (const IoRow& row : report.rows) {
      out += fmt::format("{:<{}}  {:>6.2f} {:>6.2f} {:>5.1f}%  {:>8.4f}  {:>6} {:>6}  {}\n",
                         row.arm, width, row.gbps_best, row.gbps_median, 100 * row.spread,
                         row.cpu_seconds_per_gb, Factor(row.fio_best_ratio, 3),
                         Factor(row.fio_median_ratio, 3), row.how);
    }
    if (report.kernel_bytes_ratio) {
      out += fmt::format("the kernel counted {:.3f} of the bytes that were asked for\n",
                         *report.kernel_bytes_ratio);
    }
  }
  if (report.demanded) out += DemandedLines(report);
  return out;
}

Json IoJson(const IoReport& report) {
  Json rows = Json::array();
  for (const IoRow& row : report.rows) rows.push_back(RowJson(row));
  return {{"schema", "penstock.bench.io.v1"},
          {"machine", ToJson(ReadMachineFacts(report.files.empty() ? "" : report.files.front()))},
          {"files", report.files},
          {"run_bytes", report.run_bytes},
          {"rounds", report.rounds},
          {"cpu_lost", report.cpu_lost},
          {"fio", report.fio},
          {"kernel_bytes_ratio", OrNull(report.kernel_bytes_ratio)},
          {"rows", std::move(rows)},
          {"demanded", DemandedJson(report)}};
}

}  // namespace penstock::k3
