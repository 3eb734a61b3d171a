#include "models/k3/commands/bench/bench.h"

#include <gtest/gtest.h>

#include "tests/models/k3/commands/penstock_process.h"

namespace penstock::k3 {
namespace {

TEST(BenchCommand, AloneListsWhatThereIs) {
  const ProcessResult alone = RunPenstock({"bench"});
  EXPECT_EQ(alone.exit_code, 0);
  EXPECT_NE(alone.out.find("\n  codec "), std::string::npos);
  EXPECT_TRUE(alone.err.empty());
  EXPECT_EQ(RunPenstock({"bench", "--help"}).out, alone.out);
}

TEST(BenchCommand, AnUnknownOneIsAnsweredWithTheNearest) {
  const ProcessResult result = RunPenstock({"bench", "codek"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(result.out.empty());
  EXPECT_NE(result.err.find("nearest is codec"), std::string::npos);
}

}  // namespace
}  // namespace penstock::k3
