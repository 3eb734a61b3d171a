#include "models/k3/commands/checkpoint/tokenize.h"

#include <fstream>

#include <gtest/gtest.h>

#include "tests/models/k3/commands/penstock_process.h"

namespace penstock::k3 {
namespace {

TEST(TokenizeCommand, GivesTheIdsThatGenerateReads) {
  const TemporaryFolder folder;
  const ExpectedPrompt expected = ReadExpected(0);
  std::ofstream(folder.File("text")) << expected.text;
  const std::string ids = JoinIds(expected.ids, expected.ids.size()) + "\n";
  EXPECT_EQ(RunPenstock({"tokenize", "-m", kTiny, "-p", expected.text}).out, ids);
  EXPECT_EQ(RunPenstock({"tokenize", "-m", kTiny, "-f", folder.File("text")}).out, ids);
}

TEST(TokenizeCommand, RefusesWhatIsNoText) {
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{},
                                             {"-m", kTiny},
                                             {"-m", kTiny, "-p", "a", "-f", "b"},
                                             {"-m", kTiny, "-f", "/no/such/file"},
                                             {"-m", "/no/such/directory", "-p", "a"}}) {
    std::vector<std::string> arguments = {"tokenize"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProcessResult ran = RunPenstock(arguments);
    EXPECT_EQ(ran.exit_code, 2) << ran.err;
    EXPECT_TRUE(ran.out.empty());
  }
}

}  // namespace
}  // namespace penstock::k3
