#include "models/k3/commands/checkpoint/synth.h"

#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/models/k3/commands/penstock_process.h"

namespace penstock::k3 {
namespace {

std::vector<std::string> SmallSynthArguments(const std::string& out) {
  return {"synth", "-o",        out, "--layers", "4", "--hidden", "64", "--vocab",
          "128",   "--experts", "6", "--top-k",  "3", "--latent", "32", "--expert-width",
          "32",    "--seed",    "5"};
}

TEST(SynthCommand, WritesACheckpointThatRuns) {
  const TemporaryFolder folder;
  const std::string out = folder.File("small");
  const ProcessResult written = RunPenstock(SmallSynthArguments(out));
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

// A flag beats the preset on either side of it, and the file of --config does.
TEST(SynthCommand, APresetGivesDefaultsAlone) {
  const TemporaryFolder folder;
  std::vector<std::string> arguments = SmallSynthArguments(folder.File("small"));
  for (const char* word :
       {"--preset", "k3-slice", "--kda-heads",   "2",  "--kda-width", "16", "--mla-heads", "2",
        "--q-rank", "16",       "--kv-rank",     "16", "--nope",      "8",  "--rope",      "8",
        "--value",  "8",        "--dense-width", "32", "--measure",   "3",  "--json"}) {
    arguments.emplace_back(word);
  }
  const std::string config = folder.File("config.json");
  std::ofstream(config) << R"({"synth": {"taps": 3, "vocab": 77}})";
  arguments.insert(arguments.end(), {"--config", config});
  const ProcessResult made = RunPenstock(arguments);
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Json record = Json::parse(made.out);
  EXPECT_EQ(record["schema"], "penstock.synth.v1");
  const Json& options = record["options"]["synth"];
  EXPECT_EQ(options["preset"], "k3-slice");
  EXPECT_EQ(options["layers"], 4);
  EXPECT_EQ(options["vocab"], 128);
  EXPECT_EQ(options["taps"], 3);
  EXPECT_EQ(options["residual-block"], 12);
  EXPECT_EQ(options["routes"], "k3-like");
  EXPECT_EQ(record["routes"]["steps"], 3);
  EXPECT_GT(record["routes"]["recall"]["next"], 0);
}

TEST(SynthCommand, DoesNotWriteOverAnything) {
  const TemporaryFolder folder;
  ASSERT_EQ(RunPenstock(SmallSynthArguments(folder.File("small"))).exit_code, 0);
  EXPECT_EQ(RunPenstock(SmallSynthArguments(folder.File("small"))).exit_code, 2);
}

}  // namespace
}  // namespace penstock::k3
