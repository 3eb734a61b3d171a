#include <gtest/gtest.h>

#include "runtime/options/options.h"
#include "tests/io/random_file.h"
#include "tests/models/k3/commands/penstock_process.h"

namespace penstock::k3 {
namespace {

TEST(BenchIoCommand, PrintsJsonAndATable) {
  const io::RandomFile file(8 << 20, 1);
  const std::vector<std::string> arguments = {
      "bench", "io",    "-m", file.path(), "--ioengine", "pread",     "--repetitions",
      "1",     "--fio", "0",  "--pace",    "4G",         "--demands", "2"};
  std::vector<std::string> as_json = arguments;
  as_json.push_back("--json");
  const ProcessResult json = RunPenstock(as_json);
  ASSERT_EQ(json.exit_code, 0) << json.err;
  const Json report = Json::parse(json.out);
  EXPECT_EQ(report["schema"], "penstock.bench.io.v1");
  EXPECT_EQ(report["rows"].size(), 1u);
  EXPECT_EQ(report["demanded"]["demands"], 2);
  const ProcessResult table = RunPenstock(arguments);
  EXPECT_EQ(table.exit_code, 0);
  EXPECT_NE(table.out.find("pread"), std::string::npos);
}

TEST(BenchIoCommand, RefusesAndHelps) {
  EXPECT_EQ(RunPenstock({"bench", "io", "-m", "/nowhere"}).exit_code, 2);
  EXPECT_EQ(RunPenstock({"bench", "io", "--demands", "0"}).exit_code, 2);
  EXPECT_EQ(RunPenstock({"bench", "io", "--help"}).exit_code, 0);
}

}  // namespace
}  // namespace penstock::k3
