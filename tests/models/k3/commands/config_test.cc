#include "models/k3/commands/config.h"

#include <fstream>

#include <gtest/gtest.h>

#include "tests/models/k3/commands/penstock_process.h"

namespace penstock::k3 {
namespace {

TEST(ConfigCommand, PrintsEffectiveValuesThatReadBack) {
  const TemporaryFolder folder;
  const ProcessResult printed = RunPenstock(
      {"config", "--iodepth", "7", "--ring", "12M", "-n", "5", "--temp", "0.7", "--seed", "9"});
  ASSERT_EQ(printed.exit_code, 0) << printed.err;
  const Json values = Json::parse(printed.out);
  EXPECT_EQ(values["io"]["iodepth"], 7);
  EXPECT_EQ(values["pipeline"]["ring"], "12M");
  EXPECT_EQ(values["generate"]["n-predict"], 5);
  EXPECT_EQ(values["sampling"]["temp"], 0.7);
  std::ofstream(folder.File("c.json")) << printed.out;
  const ProcessResult again = RunPenstock({"config", "--config", folder.File("c.json")});
  EXPECT_EQ(again.out, printed.out);
  const ProcessResult beaten =
      RunPenstock({"config", "--iodepth", "8", "--config", folder.File("c.json")});
  EXPECT_EQ(Json::parse(beaten.out)["io"]["iodepth"], 8);
}

TEST(ConfigCommand, RefusesUnknownKeysAndRanges) {
  const TemporaryFolder folder;
  std::ofstream(folder.File("a.json")) << R"({"io": {"iodpeth": 4}})";
  const ProcessResult unknown = RunPenstock({"config", "--config", folder.File("a.json")});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.err.find("io.iodepth"), std::string::npos);
  std::ofstream(folder.File("b.json")) << R"({"pipeline": {"extent": "1k"}})";
  const ProcessResult range = RunPenstock({"config", "--config", folder.File("b.json")});
  EXPECT_EQ(range.exit_code, 2);
  EXPECT_NE(range.err.find("1M to 64M"), std::string::npos);
}

}  // namespace
}  // namespace penstock::k3
