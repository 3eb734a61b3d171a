#include "models/k3/bench/io/fio.h"

#include <gtest/gtest.h>

#include "runtime/size.h"
#include "tests/io/random_file.h"

namespace penstock::k3 {
namespace {

constexpr const char* kGood = R"({"jobs": [{"read": {"io_bytes": 1000, "bw_bytes": 500},
  "usr_cpu": 1.5, "sys_cpu": 2.5, "job_runtime": 2000}]})";

TEST(Fio, ReadsTheCostOfItsJob) {
  const auto cost = ParseFio(kGood);
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->bytes, 1000u);
  EXPECT_EQ(cost->bytes_per_second, 500);
  EXPECT_DOUBLE_EQ(cost->cpu_seconds, 0.08);
}

TEST(Fio, RefusesWhatLacksAnything) {
  const std::string good = kGood;
  for (const std::string word :
       {"jobs", "read", "io_bytes", "bw_bytes", "usr_cpu", "sys_cpu", "job_runtime"}) {
    std::string text = good;
    text[text.find('"' + word + '"') + 1] = 'X';
    EXPECT_FALSE(ParseFio(text)) << word;
  }
  for (const char* text : {"", "[]", "{}", R"({"jobs": []})", R"({"jobs": [1]})",
                           R"({"jobs": [{"read": 1}]})", "fio: an error"}) {
    EXPECT_FALSE(ParseFio(text)) << text;
  }
  EXPECT_FALSE(ParseFio(good.substr(0, good.size() - 3)));
}

TEST(DiskFio, EveryConfigurationReadsARange) {
  if (!FioVersion()) GTEST_SKIP() << "no fio here";
  const io::RandomFile file(16 * kMiB, 1);
  for (const FioConfig& config : FioConfigs()) {
    const auto cost = RunFio(config, file.path(), 8 * kMiB, 8 * kMiB);
    if (!cost) GTEST_SKIP() << "fio does not read here: " << cost.error().message;
    EXPECT_EQ(cost->bytes, 8 * kMiB) << config.name;
    EXPECT_GT(cost->bytes_per_second, 0);
  }
  EXPECT_FALSE(RunFio(FioConfigs()[0], file.path() + ".missing", 0, kMiB));
}

}  // namespace
}  // namespace penstock::k3
