#include "models/k3/commands/generate/generate.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "runtime/small_file.h"
#include "tests/models/k3/commands/penstock_process.h"

namespace penstock::k3 {
namespace {

using Arguments = std::vector<std::string>;

ProcessResult Generate(Arguments more) {
  Arguments arguments = {"generate", "-m", kTiny};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return RunPenstock(arguments);
}

TEST(GenerateCommand, PrintsTheIdsOfTheReference) {
  for (size_t i = 0; i < 5; ++i) {
    const ExpectedPrompt expected = ReadExpected(i);
    const ProcessResult result = Generate({"--ids", JoinIds(expected.ids, expected.ids.size()),
                                           "-n", "48", "--ignore-eos", "--output", "ids"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, JoinIds(expected.greedy, 48) + "\n") << "prompt " << i;
  }
}

TEST(GenerateCommand, PrintsTheTextOfTheReference) {
  const TemporaryFolder folder;
  const ExpectedPrompt expected = ReadExpected(0);
  const ProcessResult typed = Generate({"-p", expected.text, "-n", "48"});
  EXPECT_EQ(typed.exit_code, 0) << typed.err;
  EXPECT_EQ(typed.out, expected.greedy_text);
  std::ofstream(folder.File("prompt")) << expected.text;
  EXPECT_EQ(Generate({"-f", folder.File("prompt"), "-n", "48"}).out, expected.greedy_text);
  std::ofstream(folder.File("ids")) << "[" << JoinIds(expected.ids, expected.ids.size()) << "]\n";
  EXPECT_EQ(Generate({"--ids", "@" + folder.File("ids"), "-n", "48"}).out, expected.greedy_text);
}

TEST(GenerateCommand, PrintsOneJsonObject) {
  const ExpectedPrompt expected = ReadExpected(0);
  const ProcessResult result = Generate({"-p", expected.text, "-n", "4", "--output", "json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json object = Json::parse(result.out);
  EXPECT_EQ(object["ids"],
            Json(std::vector<uint32_t>(expected.greedy.begin(), expected.greedy.begin() + 4)));
  EXPECT_EQ(object["stop"], "length");
  EXPECT_EQ(object["tokens"], 4);
  EXPECT_EQ(expected.greedy_text.rfind(object["text"].get<std::string>(), 0), 0u);
  EXPECT_NE(object["label"].get<std::string>().find("experts 4/4"), std::string::npos);
}

TEST(GenerateCommand, WritesTheLogitsThatChoseEachToken) {
  const TemporaryFolder folder;
  const ExpectedPrompt expected = ReadExpected(0);
  const std::string path = folder.File("logits.f32");
  const ProcessResult result =
      Generate({"-p", expected.text, "-n", "3", "--output", "ids", "--logits", path});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string bytes = *ReadSmallFile(path);
  const size_t vocab = 2048;
  ASSERT_EQ(bytes.size(), 3 * vocab * sizeof(float));
  for (size_t row = 0; row < 3; ++row) {
    std::vector<float> logits(vocab);
    std::memcpy(logits.data(), bytes.data() + row * vocab * sizeof(float), vocab * sizeof(float));
    const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
    EXPECT_EQ(static_cast<uint32_t>(best), expected.greedy[row]);
  }
  EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
  // Neither file is replaced unasked.
  EXPECT_EQ(Generate({"-p", "x", "-n", "1", "--logits", path}).exit_code, 2);
  EXPECT_EQ(ReadSmallFile(path)->size(), bytes.size());
  EXPECT_EQ(Generate({"-p", "x", "-n", "1", "--logits", path, "--force"}).exit_code, 0);
  EXPECT_EQ(ReadSmallFile(path)->size(), vocab * sizeof(float));
}

TEST(GenerateCommand, ADirectoryWithoutATokenizerWorksWithIds) {
  const TemporaryFolder folder;
  for (const auto& entry : std::filesystem::directory_iterator(kTiny)) {
    const std::string name = entry.path().filename();
    if (name.find("token") == std::string::npos) {
      std::filesystem::copy(entry.path(), folder.File(name));
    }
  }
  const ExpectedPrompt expected = ReadExpected(0);
  const ProcessResult result = RunPenstock({"generate", "-m", folder.File(""), "--ids",
                                            JoinIds(expected.ids, expected.ids.size()), "-n", "3"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, JoinIds(expected.greedy, 3) + "\n");
}

TEST(GenerateCommand, RefusesWhatCannotWorkAndWritesNothing) {
  const TemporaryFolder folder;
  const std::vector<Arguments> wrong = {
      {},
      {"-p", ""},
      {"-p", "a", "--ids", "1"},
      {"-f", "/nonexistent"},
      {"--ids", "1,x"},
      {"--ids", "2048"},
      {"--ids", "1,2,3", "-c", "2"},
      {"-p", "a", "-c", "99999999"},
      {"-p", "a", "-n", "-1"},
      {"-p", "a", "--temp", "-1"},
      {"-p", "a", "--cpus-compute", "8191"},
      {"-p", "a", "--memory", "1M"},
      {"-p", "a", "--pin", "all"},
      {"-p", "a", "--isa", "mmx"},
      {"-p", "a", "--verify-against", "/nonexistent"},
      {"-p", "a", "--frob"},
  };
  for (Arguments arguments : wrong) {
    arguments.insert(arguments.end(),
                     {"--logits", folder.File("l.f32"), "--events", folder.File("e.jsonl")});
    const ProcessResult result = Generate(arguments);
    EXPECT_EQ(result.exit_code, 2) << ::testing::PrintToString(arguments) << result.err;
    EXPECT_TRUE(result.out.empty());
    EXPECT_FALSE(result.err.empty());
    EXPECT_TRUE(std::filesystem::is_empty(folder.File("")));
  }
}

TEST(GenerateCommand, RefusesAPromptOverTheContextWithBothNumbers) {
  const ProcessResult result = Generate({"--ids", "1,2,3,4,5", "-c", "4"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("5"), std::string::npos);
  EXPECT_NE(result.err.find("4"), std::string::npos);
  EXPECT_EQ(Generate({"--ids", "1,2,3,4", "-c", "4", "-n", "9", "--ignore-eos", "--output", "ids"})
                .exit_code,
            0);
}

TEST(GenerateCommand, SamplesTheSameForTheSameSeed) {
  const Arguments arguments = {"-p",      "She", "-n",           "12",       "--temp", "0.9",
                               "--top-p", "0.9", "--ignore-eos", "--output", "ids"};
  const auto with_seed = [&](const char* seed) {
    Arguments all = arguments;
    all.insert(all.end(), {"--seed", seed});
    return Generate(all).out;
  };
  const std::string first = with_seed("1");
  EXPECT_EQ(with_seed("1"), first);
  EXPECT_NE(with_seed("2"), first);
}

TEST(GenerateCommand, TellsWhereTheTimeWentOnStderr) {
  const TemporaryFolder folder;
  const ProcessResult result =
      Generate({"-p", "She", "-n", "2", "--stats", "--graph", folder.File("g.dot")});
  EXPECT_EQ(result.exit_code, 0);
  for (const char* part : {"tokens/s", "trunk", "experts", "peak resident", "weights exact"}) {
    EXPECT_NE(result.err.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(ReadSmallFile(folder.File("g.dot"))->rfind("digraph", 0), 0u);
}

TEST(FaultGenerateCommand, AFullDiskEndsTheRun) {
  for (const char* flag : {"--events", "--logits", "--graph"}) {
    const ProcessResult result = Generate({"-p", "She", "-n", "8", flag, "/dev/full"});
    EXPECT_EQ(result.exit_code, 1) << flag;
    EXPECT_NE(result.err.find("/dev/full"), std::string::npos) << result.err;
  }
  PenstockProcess process({"generate", "-m", kTiny, "-p", "She", "-n", "8"}, "/dev/full");
  EXPECT_EQ(process.Wait().exit_code, 1);
}

TEST(FaultGenerateCommand, AReadErrorLeavesWhatWasGenerated) {
  const TemporaryFolder folder;
  const ExpectedPrompt expected = ReadExpected(0);
  const std::string events = folder.File("e.jsonl"), logits = folder.File("l.f32");
  const ProcessResult result =
      Generate({"-p", expected.text, "-n", "48", "--output", "ids", "--events", events, "--logits",
                logits, "--pin", "0", "--fault", "eio@3000"});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  ASSERT_FALSE(result.out.empty());
  EXPECT_EQ(result.out.back(), '\n');
  const std::string all = JoinIds(expected.greedy, 48);
  EXPECT_EQ(all.rfind(result.out.substr(0, result.out.size() - 1), 0), 0u);
  const auto records = ReadRecords(events);
  EXPECT_EQ(records.back()["event"], "run_error");
  EXPECT_EQ(records.back()["code"], "failed");
  EXPECT_FALSE(records.back()["message"].get<std::string>().empty());
  const size_t tokens = RecordsOf(records, "token").size();
  EXPECT_GT(tokens, 0u);
  EXPECT_LT(tokens, 48u);
  EXPECT_EQ(ReadSmallFile(logits)->size(), tokens * 2048 * sizeof(float));
}

}  // namespace
}  // namespace penstock::k3
