#include "models/k3/bench/codec/rows.h"

#include <algorithm>

#include <fmt/format.h>

#include "models/k3/bench/cells.h"
namespace penstock::k3 {

std::string CodecRowsTable(std::span<const CodecRow> rows) {
  size_t width = 5;
  for (const CodecRow& row : rows) width = std::max(width, row.codec.size());
  std::string out =
      fmt::format("{:<{}}  {:<7} {:<6} {:>6}  {:>7} {:>7}  {:>7} {:>7}  {:>6} {:>6} {:>7}\n", "",
                  width, "", "", "", "GB/s", "", "xmemcpy", "", "", "", "");
  out += fmt::format("{:<{}}  {:<7} {:<6} {:>6}  {:>7} {:>7}  {:>7} {:>7}  {:>6} {:>6} {:>7}\n",
                     "codec", width, "isa", "data", "ratio", "best", "median", "best", "median",
                     "xzstd", "spread", "x1thr");
  for (const CodecRow& row : rows) {
    out += fmt::format(
        "{:<{}}  {:<7} {:<6} {:>6.4f}  {:>7.2f} {:>7.2f}  {:>7.3f} {:>7.3f}  {:>6} {:>5.1f}% "
        "{:>7}\n",
        row.codec, width, row.isa.empty() ? "-" : row.isa, row.data, row.ratio, row.gbps_best,
        row.gbps_median, row.gbps_best / row.memcpy_best, row.gbps_median / row.memcpy_median,
        Factor(row.zstd1_ratio), 100 * row.spread, Factor(row.x_one_thread));
  }
  return out;
}

Json CodecJson(std::span<const CodecRow> rows) {
  Json out = Json::array();
  for (const CodecRow& row : rows) {
    out.push_back({{"codec", row.codec},
                   {"data", row.data},
                   {"ratio", row.ratio},
                   {"gbps_best", row.gbps_best},
                   {"gbps_median", row.gbps_median},
                   {"memcpy_best", row.memcpy_best},
                   {"memcpy_median", row.memcpy_median},
                   {"memcpy_ratio", row.memcpy_ratio},
                   {"zstd1_ratio", OrNull(row.zstd1_ratio)},
                   {"x_one_thread", OrNull(row.x_one_thread)},
                   {"isa", row.isa},
                   {"checksum", row.checksum},
                   {"threads", row.threads},
                   {"clock", row.clock},
                   {"bytes", row.bytes},
                   {"spread", row.spread},
                   {"cpu_lost", row.cpu_lost}});
  }
  return out;
}

}  // namespace penstock::k3
