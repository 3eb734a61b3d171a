#include "models/k3/commands/checkpoint/synth.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/models/k3/commands/penstock_process.h"

namespace penstock::k3 {
namespace {

std::vector<std::string> Small(const std::string& out) {
  return {"synth", "-o",        out, "--layers", "4", "--hidden", "64", "--vocab",
          "128",   "--experts", "6", "--top-k",  "3", "--latent", "32", "--expert-width",
          "32",    "--seed",    "5"};
}

TEST(SynthCommand, WritesACheckpointThatRuns) {
  const TemporaryFolder folder;
  const std::string out = folder.File("small");
  const ProcessResult written = RunPenstock(Small(out));
  ASSERT_EQ(written.exit_code, 0) << written.err;
  EXPECT_TRUE(written.out.empty());
  // Without tokenizer files the output is ids.
  const ProcessResult run = RunPenstock({"generate", "-m", out, "--ids", "1,2,3", "-n", "4"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(std::count(run.out.begin(), run.out.end(), ','), 3);
  EXPECT_EQ(run.out.back(), '\n');
  for (const std::vector<std::string>& refused :
       {std::vector<std::string>{"generate", "-m", out, "-p", "x"},
        std::vector<std::string>{"generate", "-m", out, "--ids", "1", "--output", "text"}}) {
    const ProcessResult result = RunPenstock(refused);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_TRUE(result.out.empty());
  }
}

TEST(SynthCommand, DoesNotWriteOverAnything) {
  const TemporaryFolder folder;
  ASSERT_EQ(RunPenstock(Small(folder.File("small"))).exit_code, 0);
  EXPECT_EQ(RunPenstock(Small(folder.File("small"))).exit_code, 2);
}

}  // namespace
}  // namespace penstock::k3
