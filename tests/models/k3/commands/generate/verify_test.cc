#include "models/k3/commands/generate/verify.h"

#include <fstream>

#include <gtest/gtest.h>

#include "runtime/small_file.h"
#include "tests/models/k3/commands/penstock_process.h"

namespace penstock::k3 {
namespace {

constexpr const char* kStart =
    R"({"schema":"penstock.event.v1","event":"run_start","checkpoint_id":"ab"})"
    "\n";

std::string TokenRecord(const std::string& id) {
  return R"({"schema":"penstock.event.v1","event":"token","id":)" + id + "}\n";
}

struct VerificationTest : ::testing::Test {
  Result<Verification> Read(const std::string& text) {
    std::ofstream(folder.File("run.jsonl")) << text;
    return Verification::Read(folder.File("run.jsonl"));
  }
  TemporaryFolder folder;
};

TEST_F(VerificationTest, ComparesTokenByToken) {
  const auto run = Read(kStart + TokenRecord("5") + TokenRecord("7"));
  ASSERT_TRUE(run);
  EXPECT_EQ(run->size(), 2u);
  EXPECT_EQ(run->checkpoint_id(), "ab");
  EXPECT_TRUE(run->Check(0, 5));
  EXPECT_EQ(run->Check(1, 8).error().code, ErrorCode::kUnsound);
  EXPECT_TRUE(run->Check(2, 8));  // Nothing is recorded there.
}

TEST_F(VerificationTest, RefusesWhatIsNoRecord) {
  for (const std::string& text :
       {std::string(), std::string(kStart), std::string("x"), kStart + TokenRecord("-1"),
        kStart + TokenRecord("4294967296"), kStart + TokenRecord("\"5\""),
        kStart + TokenRecord("5") + "{\"cut",
        std::string(R"({"schema":"other","event":"token","id":1})"), std::string("[1]"),
        std::string(R"({"schema":"penstock.event.v1","event":"token"})")}) {
    const auto run = Read(text);
    ASSERT_FALSE(run) << text;
    EXPECT_EQ(run.error().code, ErrorCode::kRefused);
  }
}

TEST_F(VerificationTest, EndsTheProgramWithFourAtTheFirstDifference) {
  const ExpectedPrompt expected = ReadExpected(0);
  std::string text = kStart;
  for (size_t i = 0; i < 6; ++i) text += TokenRecord(std::to_string(expected.greedy[i]));
  ASSERT_TRUE(Read(text));
  const std::vector<std::string> arguments = {"generate",
                                              "-m",
                                              kTiny,
                                              "-p",
                                              expected.text,
                                              "-n",
                                              "6",
                                              "--output",
                                              "ids",
                                              "--verify-against",
                                              folder.File("run.jsonl")};
  const ProcessResult same = RunPenstock(arguments);
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_EQ(same.out, JoinIds(expected.greedy, 6) + "\n");

  text = kStart + TokenRecord(std::to_string(expected.greedy[0])) +
         TokenRecord(std::to_string(expected.greedy[1])) +
         TokenRecord(std::to_string(expected.greedy[2] + 1));
  ASSERT_TRUE(Read(text));
  const ProcessResult other = RunPenstock(arguments);
  EXPECT_EQ(other.exit_code, 4);
  EXPECT_EQ(other.out, JoinIds(expected.greedy, 2) + "\n");
  EXPECT_NE(other.err.find("token 2"), std::string::npos) << other.err;
}

}  // namespace
}  // namespace penstock::k3
