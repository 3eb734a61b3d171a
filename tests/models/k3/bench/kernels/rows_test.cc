#include "models/k3/bench/kernels/rows.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace penstock::k3 {
namespace {

KernelReport TwoRows() {
  KernelReport report;
  report.rounds = 3;
  report.cpu_lost = 0.25;
  KernelRow row;
  row.kernel = "mxfp4";
  row.isa = "avx2";
  row.bound = "read";
  row.x_table = 1.5;
  row.error = 1e-8;
  report.rows = {row, KernelRow{}};
  return report;
}

TEST(KernelRows, JsonHasItsSchemaAndEveryKeyInEveryRow) {
  const Json json = KernelJson(TwoRows());
  EXPECT_EQ(json["schema"], "penstock.bench.kernels.v1");
  EXPECT_EQ(json["rounds"], 3);
  EXPECT_EQ(json["cpu_lost"], 0.25);
  ASSERT_EQ(json["rows"].size(), 2u);
  for (const Json& row : json["rows"]) {
    std::set<std::string> keys;
    for (const auto& [key, value] : row.items()) keys.insert(key);
    EXPECT_EQ(keys,
              (std::set<std::string>{"kernel", "isa", "shape", "positions", "bytes", "gbps_best",
                                     "gbps_median", "spread", "bound", "of_bound", "of_read1",
                                     "x_one", "x_plain", "x_table", "x_int8", "x_eigen", "error"}));
  }
  EXPECT_EQ(json["rows"][0]["x_table"], 1.5);
  EXPECT_EQ(json["rows"][0]["error"], 1e-8);
  EXPECT_TRUE(json["rows"][1]["x_table"].is_null());
}

TEST(KernelRows, TheTableHasALineForEachRow) {
  const std::string table = KernelTable(TwoRows());
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 4);
  EXPECT_NE(table.find("\nmxfp4 "), std::string::npos);
}

}  // namespace
}  // namespace penstock::k3
