#include "models/k3/bench/io/rows.h"

#include <gtest/gtest.h>

namespace penstock::k3 {
namespace {

IoReport Sample() {
  IoReport report;
  report.files = {"/nowhere/a"};
  report.run_bytes = 1 << 30;
  report.rounds = 9;
  report.fio = "fio-3.33";
  report.rows = {{.arm = "io_uring", .how = "depth", .gbps_best = 2, .fio_best_ratio = 0.99},
                 {.arm = "pread", .how = "6 threads"}};
  report.pace = "2G";
  report.demanded = io::DemandLatency{.window_bytes = 8 << 20,
                                      .bytes_per_second = 2000,
                                      .bound_ns = 100,
                                      .ns = {50, 120},
                                      .device_share = 0.5};
  return report;
}

TEST(IoRows, JsonHasEveryNumber) {
  const Json json = IoJson(Sample());
  EXPECT_EQ(json["schema"], "penstock.bench.io.v1");
  EXPECT_TRUE(json["machine"].is_object());
  EXPECT_EQ(json["rows"].size(), 2u);
  EXPECT_EQ(json["rows"][0]["arm"], "io_uring");
  EXPECT_EQ(json["rows"][0]["fio_best_ratio"], 0.99);
  EXPECT_TRUE(json["rows"][1]["fio_best_ratio"].is_null());
  EXPECT_TRUE(json["kernel_bytes_ratio"].is_null());
  EXPECT_EQ(json["demanded"]["p50_ns"], 50);
  EXPECT_EQ(json["demanded"]["p99_ns"], 120);
  EXPECT_DOUBLE_EQ(json["demanded"]["p99_ratio"], 1.2);
  EXPECT_EQ(json["demanded"]["demands"], 2);
}

TEST(IoRows, PartsThatWereNotMeasuredAreLeftOut) {
  IoReport report = Sample();
  EXPECT_NE(IoTable(report).find("p99"), std::string::npos);
  report.demanded.reset();
  EXPECT_TRUE(IoJson(report)["demanded"].is_null());
  EXPECT_EQ(IoTable(report).find("p99"), std::string::npos);
  EXPECT_NE(IoTable(report).find("io_uring"), std::string::npos);
  report.rows.clear();
  EXPECT_EQ(IoTable(report), "");
}

}  // namespace
}  // namespace penstock::k3
