#include "models/k3/commands/bench/kernels.h"

#include <gtest/gtest.h>

#include "tests/models/k3/commands/penstock_process.h"

namespace penstock::k3 {
namespace {

std::vector<std::string> SmallKernelsArguments(const std::vector<std::string>& more) {
  std::vector<std::string> out = {"bench", "kernels", "--bytes", "256k", "--repetitions", "2"};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

TEST(BenchKernelsCommand, JsonHasTheSchemaAndItsRows) {
  const ProcessResult result =
      RunPenstock(SmallKernelsArguments({"--json", "--kernel", "kda", "--threads", "1"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("kernels: measuring"), std::string::npos);
  const Json json = Json::parse(result.out);
  EXPECT_EQ(json["schema"], "penstock.bench.kernels.v1");
  ASSERT_GE(json["rows"].size(), 5u);
  for (const Json& row : json["rows"]) {
    EXPECT_GT(row["gbps_best"], 0.0);
    EXPECT_GE(row["gbps_best"], row["gbps_median"]);
  }
  EXPECT_EQ(json["rows"][4]["kernel"], "kda");
}

TEST(BenchKernelsCommand, TheTableIsThereWithoutJson) {
  const ProcessResult result =
      RunPenstock(SmallKernelsArguments({"--kernel", "mxfp4", "--isa", "scalar"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("\nmxfp4-plain "), std::string::npos);
  EXPECT_EQ(result.out.find("kda"), std::string::npos);
}

TEST(BenchKernelsCommand, UsageErrorsExitWithTwo) {
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"--bytes", "1k"},
                                                {"--repetitions", "0"},
                                                {"--threads", "2"},
                                                {"--cpu", "8191"},
                                                {"--kernel", "gemm"},
                                                {"--isa", "neon"},
                                                {"extra"}}) {
    EXPECT_EQ(RunPenstock(SmallKernelsArguments(wrong)).exit_code, 2) << wrong[0];
  }
}

}  // namespace
}  // namespace penstock::k3
