#include "models/k3/commands/bench/codec.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <signal.h>

#include "tests/models/k3/commands/penstock_process.h"

namespace penstock::k3 {
namespace {

std::vector<std::string> SmallCodecArguments(const std::vector<std::string>& more) {
  std::vector<std::string> out = {"bench",   "codec", "--bytes",       "256k",
                                  "--chunk", "4096",  "--repetitions", "3"};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

TEST(BenchCodecCommand, JsonHasTheRowsThatResultsAreReadFrom) {
  const ProcessResult result = RunPenstock(SmallCodecArguments({"--json", "-m", kTiny}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("syn: measuring"), std::string::npos);
  const Json rows = Json::parse(result.out);
  ASSERT_TRUE(rows.is_array());
  for (const std::string data : {"syn", "trunk"}) {
    for (const std::string codec :
         {"memcpy", "raw", "chain", "chain-scalar", "chain+sum", "chain-tile", "chain-encode",
          "huffman", "huffman-scalar", "huffman-plain", "huffman+sum", "huffman-tile",
          "huffman-encode", "zstd-1", "raw+sum"}) {
      const auto row = std::find_if(rows.begin(), rows.end(), [&](const Json& one) {
        return one["codec"] == codec && one["data"] == data;
      });
      ASSERT_NE(row, rows.end()) << codec << " " << data;
      EXPECT_GT((*row)["ratio"], 0.5);
      EXPECT_LT((*row)["ratio"], 1.1);
      for (const char* key : {"gbps_best", "gbps_median", "memcpy_best", "memcpy_median"}) {
        EXPECT_GT((*row)[key], 0.0) << codec << " " << key;
      }
    }
  }
}

TEST(BenchCodecCommand, TheTableIsThereWithoutJson) {
  const ProcessResult result = RunPenstock(SmallCodecArguments({"--codec", "zstd"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("\nzstd-1 "), std::string::npos);
  EXPECT_EQ(result.out.find("chain"), std::string::npos);
}

TEST(BenchCodecCommand, UsageErrorsExitWithTwo) {
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"--bytes", "1k"},
                                                {"--chunk", "0"},
                                                {"--repetitions", "0"},
                                                {"--threads", "65"},
                                                {"--cpu", "8191"},
                                                {"--codec", "lzma"},
                                                {"--bytes", "1T"},
                                                {"-m", "/absent"},
                                                {"extra"},
                                                {"--frob"}}) {
    const ProcessResult result = RunPenstock(SmallCodecArguments(wrong));
    EXPECT_EQ(result.exit_code, 2) << wrong[0] << ": " << result.err;
    EXPECT_TRUE(result.out.empty());
    EXPECT_FALSE(result.err.empty());
  }
  EXPECT_EQ(RunPenstock({"bench", "codec", "--help"}).exit_code, 0);
}

TEST(BenchCodecCommand, AnInterruptEndsItWith130) {
  PenstockProcess process(
      {"bench", "codec", "--bytes", "64k", "--repetitions", "10000", "--codec", "huffman"});
  ASSERT_TRUE(
      Eventually([&] { return process.ErrSoFar().find("measuring") != std::string::npos; }));
  process.Signal(SIGINT);
  const ProcessResult result = process.Wait();
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_TRUE(result.out.empty());
}

}  // namespace
}  // namespace penstock::k3
