#include "models/k3/commands/commands.h"

#include <gtest/gtest.h>

#include "tests/models/k3/commands/penstock_process.h"

namespace penstock::k3 {
namespace {

TEST(Commands, HelpAndVersionGoToStdout) {
  for (const char* flag : {"--help", "-h", "--version"}) {
    const ProcessResult result = RunPenstock({flag});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_FALSE(result.out.empty());
    EXPECT_TRUE(result.err.empty()) << result.err;
  }
  for (const char* command : {"generate", "plan", "inspect", "synth", "bench", "config"}) {
    const ProcessResult result = RunPenstock({command, "--help"});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_NE(result.out.find(command), std::string::npos);
    EXPECT_TRUE(result.err.empty());
  }
}

TEST(Commands, UsageErrorsExitWithTwoAndPrintNothing) {
  const std::vector<std::vector<std::string>> wrong = {{},
                                                       {"genrate"},
                                                       {"--frob"},
                                                       {"generate", "--iodpeth", "4"},
                                                       {"config", "extra"},
                                                       {"synth"},
                                                       {"bench", "codek"},
                                                       {"inspect"},
                                                       {"inspect", "a", "b"}};
  for (const auto& arguments : wrong) {
    const ProcessResult result = RunPenstock(arguments);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_TRUE(result.out.empty());
    EXPECT_FALSE(result.err.empty());
  }
}

TEST(Commands, UnknownNamesAreAnsweredWithTheNearest) {
  EXPECT_NE(RunPenstock({"genrate"}).err.find("generate"), std::string::npos);
  EXPECT_NE(RunPenstock({"generate", "--iodpeth", "4"}).err.find("--iodepth"), std::string::npos);
}

TEST(FaultCommands, AFullDiskBehindStdoutIsAFailure) {
  PenstockProcess process({"config"}, "/dev/full");
  EXPECT_EQ(process.Wait().exit_code, 1);
}

}  // namespace
}  // namespace penstock::k3
