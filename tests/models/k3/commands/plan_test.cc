#include "models/k3/commands/plan.h"

#include <gtest/gtest.h>

#include "models/k3/plan/preset.h"
#include "tests/models/k3/commands/penstock_process.h"

namespace penstock::k3 {
namespace {

const std::string kReleased = PENSTOCK_SOURCE_DIR "/tests/models/k3/plan/released-config.json";

TEST(PlanCommand, PlansAModelAndAMachineThatAreNotThere) {
  const ProcessResult result = RunPenstock({"plan", "--config", kReleased, "--disk", "7G",
                                            "--cores", "16", "--memory", "64G", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json plan = Json::parse(result.out);
  EXPECT_EQ(plan["schema"], "penstock.plan.v1");
  EXPECT_EQ(plan["memory"]["budget_bytes"], 64 * kGiB);
  EXPECT_EQ(plan["machine"]["cores"], 16);
  EXPECT_EQ(plan["prediction"]["bound"], "device");
  EXPECT_GT(plan["memory"]["pinned_layers"], 40);
  // As a table the same.
  const ProcessResult table = RunPenstock(
      {"plan", "--config", kReleased, "--disk", "7G", "--cores", "16", "--memory", "64G"});
  EXPECT_EQ(table.exit_code, 0);
  EXPECT_NE(table.out.find("device-bound"), std::string::npos);
  EXPECT_TRUE(table.err.empty()) << table.err;
}

TEST(PlanCommand, ListsPresets) {
  const ProcessResult result = RunPenstock({"plan", "--list-presets"});
  EXPECT_EQ(result.exit_code, 0);
  for (const Preset& preset : Presets()) {
    EXPECT_NE(result.out.find(preset.name), std::string::npos) << preset.name;
  }
}

TEST(PlanCommand, RefusesWhatItCannotPlan) {
  const std::vector<std::vector<std::string>> bad = {
      {"plan"},
      {"plan", "--config", "/nowhere/config.json"},
      {"plan", "--config", kReleased, "-m", kTiny},
      {"plan", "--config", kReleased, "--memory", "1G"},
      {"plan", "--config", kReleased, "--memory", "some"},
      {"plan", "--config", kReleased, "--pin", "all"},
      {"plan", "--config", kReleased, "--preset", "17g"}};
  for (const auto& arguments : bad) {
    const ProcessResult result = RunPenstock(arguments);
    EXPECT_EQ(result.exit_code, 2) << arguments.back();
    EXPECT_TRUE(result.out.empty());
    EXPECT_FALSE(result.err.empty());
  }
}

}  // namespace
}  // namespace penstock::k3
