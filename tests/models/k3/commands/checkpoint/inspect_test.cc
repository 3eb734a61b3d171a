#include "models/k3/commands/checkpoint/inspect.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "tests/models/k3/commands/penstock_process.h"

namespace penstock::k3 {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

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
  const std::vector<std::vector<std::string>> wrong = {
      {"inspect", folder.File("absent")},      {"inspect", folder.File("")},
      {"inspect", kTiny, "--json", "--graph"}, {"inspect", kTiny, "--full"},
      {"inspect", kTiny, "--html", "x"},       {"inspect", kTiny, "--entropy", "--graph"}};
  for (const auto& arguments : wrong) {
    const ProcessResult result = RunPenstock(arguments);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_TRUE(result.out.empty());
  }
}

TEST(InspectCommand, MeasuresEntropy) {
  const TemporaryFolder folder;
  const std::string page = folder.File("page.html");
  const ProcessResult json = RunPenstock({"inspect", kTiny, "--entropy", "--json", "--html", page});
  ASSERT_EQ(json.exit_code, 0) << json.err;
  EXPECT_EQ(Json::parse(json.out)["schema"], "penstock.entropy.v1");
  EXPECT_EQ(ReadFile(page).rfind("<!DOCTYPE html>", 0), 0u);
  const ProcessResult tensors = RunPenstock({"inspect", kTiny, "--entropy", "--tensors", "--full"});
  ASSERT_EQ(tensors.exit_code, 0) << tensors.err;
  EXPECT_NE(tensors.out.find("language_model.lm_head.weight"), std::string::npos);
}

TEST(InspectCommand, LeavesAFileAlone) {
  const TemporaryFolder folder;
  const std::string page = folder.File("page.html");
  std::ofstream(page) << "mine";
  const ProcessResult result = RunPenstock({"inspect", kTiny, "--entropy", "--html", page});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(result.out.empty());
  EXPECT_EQ(ReadFile(page), "mine");
}

TEST(FaultInspectCommand, AFailedReadLeavesNoPage) {
  const TemporaryFolder folder;
  const std::string page = folder.File("page.html");
  const ProcessResult result = RunPenstock(
      {"inspect", kTiny, "--entropy", "--html", page, "--ioengine", "pread", "--fault", "eio@9"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(result.out.empty());
  EXPECT_FALSE(std::filesystem::exists(page));
  EXPECT_FALSE(std::filesystem::exists(page + ".partial"));
}

TEST(InspectCommand, StopsOnASignal) {
  const TemporaryFolder folder;
  const std::string page = folder.File("page.html");
  PenstockProcess process({"inspect", kTiny, "--entropy", "--html", page, "--ioengine", "pread",
                           "--fault", "delay=1s"});
  ASSERT_TRUE(Eventually([&] { return std::filesystem::exists(page + ".partial"); }));
  process.Signal(SIGINT);
  EXPECT_EQ(process.Wait().exit_code, 130);
  EXPECT_FALSE(std::filesystem::exists(page + ".partial"));
}

}  // namespace
}  // namespace penstock::k3
