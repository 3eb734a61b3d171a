#include "models/k3/bench/kernels/kernels.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace penstock::k3 {
namespace {

KernelBenchOptions Tiny(const std::string& kernel) {
  KernelBenchOptions options;
  options.repetitions = 2;
  options.bytes = ByteSize{256 * kKiB};
  options.kernel = kernel;
  options.isa = "scalar";
  return options;
}

TEST(BenchKernels, RatiosAreThoseOfTheRowsOfOneRun) {
  const auto report = BenchKernels(Tiny("mxfp4,kda"), {});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->rounds, 2u);
  const auto find = [&](const std::string& kernel, const std::string& shape, size_t positions) {
    const auto row = std::find_if(report->rows.begin(), report->rows.end(), [&](const auto& one) {
      return one.kernel == kernel && (shape.empty() || one.shape == shape) &&
             one.positions == positions;
    });
    EXPECT_NE(row, report->rows.end()) << kernel;
    return *row;
  };
  const KernelRow one = find("mxfp4", "", 1);
  const KernelRow four = find("mxfp4", one.shape, 4);
  const KernelRow plain = find("mxfp4-plain", one.shape, 1);
  double read = 0;
  for (const char* name : {"read-1", "read-4", "read-8"}) {
    read = std::max(read, find(name, "", 1).gbps_best);
  }
  EXPECT_EQ(one.of_bound, one.gbps_best / read);
  EXPECT_EQ(one.of_read1, one.gbps_best / find("read-1", "", 1).gbps_best);
  EXPECT_EQ(one.x_plain, one.gbps_best / plain.gbps_best);
  EXPECT_EQ(four.x_one, 4 * (four.gbps_best / one.gbps_best));
  EXPECT_FALSE(one.x_one || one.x_eigen || plain.x_plain || four.x_plain);
  const KernelRow kda = find("kda", "", 1);
  EXPECT_EQ(kda.of_bound, kda.gbps_best / find("memcpy", "", 1).gbps_best);
}

TEST(BenchKernels, WrongOptionsAreRefused) {
  KernelBenchOptions unknown = Tiny("mxfp4,gemm");
  KernelBenchOptions isa = Tiny("kda");
  isa.isa = "neon";
  KernelBenchOptions large = Tiny("kda");
  large.bytes = ByteSize{kTiB};
  KernelBenchOptions cpu = Tiny("kda");
  cpu.cpu = "8191";
  for (const KernelBenchOptions& options : {unknown, isa, large, cpu}) {
    const auto report = BenchKernels(options, {});
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, ErrorCode::kRefused) << report.error().message;
  }
}

TEST(BenchKernels, StopsWhenToldTo) {
  const auto report =
      BenchKernels(Tiny("kda"), {.notice = {}, .progress = [](const auto&) { return false; }});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace penstock::k3
