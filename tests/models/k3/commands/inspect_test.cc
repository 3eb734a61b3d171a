#include "models/k3/commands/inspect.h"

#include <gtest/gtest.h>

#include "tests/models/k3/commands/penstock_process.h"

namespace penstock::k3 {
namespace {

TEST(InspectCommand, ShowsTheCensusInThreeForms) {
  const ProcessResult table = RunPenstock({"inspect", kTiny});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_FALSE(table.out.empty());
  const ProcessResult json = RunPenstock({"inspect", "-m", kTiny, "--json"});
  ASSERT_EQ(json.exit_code, 0) << json.err;
  EXPECT_TRUE(Json::parse(json.out).is_object());
  const ProcessResult tensors = RunPenstock({"inspect", kTiny, "--tensors"});
  EXPECT_EQ(tensors.exit_code, 0);
  EXPECT_NE(tensors.out.find("lm_head.weight\tBF16\t"), std::string::npos);
}

TEST(InspectCommand, DrawsTheGraphOfLiveObjects) {
  const ProcessResult graph = RunPenstock({"inspect", kTiny, "--graph"});
  ASSERT_EQ(graph.exit_code, 0) << graph.err;
  EXPECT_EQ(graph.out.rfind("digraph", 0), 0u);
  EXPECT_NE(graph.out.find("->"), std::string::npos);
}

TEST(InspectCommand, RefusesWhatIsNoCheckpoint) {
  const TemporaryFolder folder;
  const std::vector<std::vector<std::string>> wrong = {{"inspect", folder.File("absent")},
                                                       {"inspect", folder.File("")},
                                                       {"inspect", kTiny, "--json", "--graph"}};
  for (const auto& arguments : wrong) {
    const ProcessResult result = RunPenstock(arguments);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_TRUE(result.out.empty());
  }
}

}  // namespace
}  // namespace penstock::k3
