#include "models/k3/bench/io/io.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/io/random_file.h"

namespace penstock::k3 {
namespace {

IoBenchOptions SmallIoBench(const std::string& model) {
  IoBenchOptions options;
  options.model = model;
  options.ioengine = "pread";
  options.repetitions = 2;
  options.seconds = Duration{1'000'000};
  options.fio = "0";
  options.pace = "4G";
  options.demands = 0;
  return options;
}

TEST(BenchIo, ReadsTheFileWithEveryEngineInTurns) {
  const io::RandomFile file((16 << 20) + 5, 1);
  size_t calls = 0;
  const auto report =
      BenchIo(SmallIoBench(file.path()), {.notice = {}, .progress = [&](const auto& at) {
                                            EXPECT_EQ(at.total, 3u);
                                            ++calls;
                                            return true;
                                          }});
  ASSERT_TRUE(report);
  EXPECT_EQ(calls, 3u);
  EXPECT_EQ(report->run_bytes % (8 << 20), 0u);
  EXPECT_LE(report->run_bytes, file.size());
  EXPECT_EQ(report->rounds, 2u);
  EXPECT_EQ(report->files, (std::vector<std::string>{file.path()}));
  ASSERT_EQ(report->rows.size(), 1u);
  EXPECT_EQ(report->rows[0].arm, "pread");
  EXPECT_GT(report->rows[0].gbps_median, 0);
  EXPECT_GE(report->rows[0].gbps_best, report->rows[0].gbps_median);
  EXPECT_GT(report->rows[0].cpu_seconds_per_gb, 0);
  EXPECT_FALSE(report->rows[0].fio_best_ratio);
  EXPECT_FALSE(report->demanded);
}

TEST(DiskBenchIo, ComparesWithFioWhereItIsInstalled) {
  const io::RandomFile file(8 << 20, 1);
  IoBenchOptions options = SmallIoBench(file.path());
  options.repetitions = 1;
  options.fio = "1";
  const auto report = BenchIo(options, {});
  if (!report) GTEST_SKIP() << report.error().message;
  ASSERT_EQ(report->rows.size(), 4u);
  EXPECT_TRUE(report->rows[0].fio_best_ratio);
  // No arm of fio is better than the best of them.
  double most = 0;
  for (size_t i = 1; i < 4; ++i) most = std::max(most, *report->rows[i].fio_best_ratio);
  EXPECT_EQ(most, 1);
  bool one = false;
  for (size_t i = 1; i < 4; ++i) one = one || *report->rows[i].fio_median_ratio == 1;
  EXPECT_TRUE(one);
}

TEST(BenchIo, MeasuresDemandedReadsWithoutAFile) {
  IoBenchOptions options = SmallIoBench("");
  options.demands = 3;
  const auto report = BenchIo(options, {});
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->rows.empty());
  ASSERT_TRUE(report->demanded);
  EXPECT_EQ(report->demanded->ns.size(), 3u);
}

TEST(BenchIo, RefusesWhatItCannotMeasure) {
  const io::RandomFile small(4096, 1);
  EXPECT_FALSE(BenchIo(SmallIoBench(""), {}));
  EXPECT_FALSE(BenchIo(SmallIoBench(small.path()), {}));
  EXPECT_FALSE(BenchIo(SmallIoBench("/nowhere"), {}));
  const io::RandomFile file(8 << 20, 1);
  IoBenchOptions options = SmallIoBench(file.path());
  options.ioengine = "pread,memory";
  EXPECT_FALSE(BenchIo(options, {}));
  options = SmallIoBench(file.path());
  options.bs.bytes = 5000;
  EXPECT_FALSE(BenchIo(options, {}));
  const auto stopped = BenchIo(SmallIoBench(file.path()),
                               {.notice = {}, .progress = [](const auto&) { return false; }});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace penstock::k3
