#include "models/k3/commands/generate/token_output.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "models/text/choose/log_probability.h"
#include "runtime/small_file.h"
#include "tests/models/k3/commands/penstock_process.h"

namespace penstock::k3 {
namespace {

TEST(TokenOutput, ScoresAreForForcedIds) {
  EXPECT_EQ(*ChooseOutput("auto", true, true), OutputKind::kScores);
  EXPECT_EQ(*ChooseOutput("auto", true, false), OutputKind::kText);
  EXPECT_EQ(*ChooseOutput("auto", false, false), OutputKind::kIds);
  EXPECT_EQ(*ChooseOutput("ids", true, true), OutputKind::kIds);
  EXPECT_FALSE(ChooseOutput("scores", true, false));
  EXPECT_FALSE(ChooseOutput("text", false, true));
}

struct ForcedRun : ::testing::Test {
  std::string WriteIds(const std::vector<uint32_t>& ids) {
    std::ofstream(folder.File("ids.txt")) << JoinIds(ids, ids.size());
    return folder.File("ids.txt");
  }
  ProcessResult Force(const std::vector<uint32_t>& ids, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"generate", "-m",          kTiny,        "--ids",
                                          "3,1,4",    "--force-ids", WriteIds(ids)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunPenstock(arguments);
  }
  TemporaryFolder folder;
};

// A list read twice.
std::vector<uint32_t> RepeatedList() {
  std::vector<uint32_t> ids;
  for (int reading = 0; reading < 3; ++reading) {
    for (uint32_t i = 0; i < 50; ++i) ids.push_back(i * i % 2003);
  }
  return ids;
}

// All of them, also beyond what a run generates unasked; each with what its row of logits says.
TEST_F(ForcedRun, ScoresEachIdByTheRowThatWouldHaveChosenIt) {
  const std::vector<uint32_t> ids = RepeatedList();
  const std::string path = folder.File("logits.f32");
  const ProcessResult ran = Force(ids, {"--logits", path, "--draft-max", "0"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto bytes = ReadSmallFile(path, size_t{1} << 28);
  ASSERT_TRUE(bytes);
  const size_t vocab = bytes->size() / sizeof(float) / ids.size();
  ASSERT_EQ(bytes->size(), ids.size() * vocab * sizeof(float));
  std::istringstream lines(ran.out);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "position,id,log_probability");
  std::vector<float> row(vocab);
  for (size_t i = 0; i < ids.size(); ++i) {
    ASSERT_TRUE(std::getline(lines, line)) << i;
    size_t position = 0;
    uint32_t id = 0;
    double log_probability = 0;
    ASSERT_EQ(std::sscanf(line.c_str(), "%zu,%u,%lf", &position, &id, &log_probability), 3);
    std::memcpy(row.data(), bytes->data() + i * vocab * sizeof(float), vocab * sizeof(float));
    EXPECT_EQ(position, 3 + i);
    EXPECT_EQ(id, ids[i]);
    EXPECT_EQ(log_probability, *text::LogProbability(row, id));
  }
  EXPECT_FALSE(std::getline(lines, line));
}

TEST_F(ForcedRun, DraftsAndChunksChangeNothingAndAreCounted) {
  const std::vector<uint32_t> ids = RepeatedList();
  const std::string serial_logits = folder.File("serial.f32");
  const ProcessResult serial =
      Force(ids, {"--draft-max", "0", "--prefill-chunk", "1", "--logits", serial_logits});
  ASSERT_EQ(serial.exit_code, 0);
  for (const char* drafts : {"1", "4", "19", "auto"}) {
    const std::string logits = folder.File("l.f32"), events = folder.File("e.jsonl");
    const ProcessResult ran =
        Force(ids, {"--draft-max", drafts, "--logits", logits, "--events", events, "--force"});
    ASSERT_EQ(ran.exit_code, 0);
    EXPECT_EQ(ran.out, serial.out);
    EXPECT_EQ(*ReadSmallFile(logits, size_t{1} << 28),
              *ReadSmallFile(serial_logits, size_t{1} << 28));
    const auto records = ReadRecords(events);
    uint64_t drafted = 0, accepted = 0, tokens = 1;
    double bytes = 0;
    for (const Json& step : RecordsOf(records, "step")) {
      if (step["prompt"]) continue;
      EXPECT_EQ(step["positions"], 1 + step["drafted"].get<uint64_t>());
      EXPECT_LE(step["accepted"], step["drafted"]);
      drafted += step["drafted"].get<uint64_t>();
      accepted += step["accepted"].get<uint64_t>();
      tokens += 1 + step["accepted"].get<uint64_t>();
      for (const Json& source : step["bytes"]) bytes += source.get<double>();
    }
    const Json& end = records.back();
    EXPECT_EQ(tokens, ids.size());
    EXPECT_EQ(end["drafted"], drafted);
    EXPECT_EQ(end["accepted"], accepted);
    EXPECT_DOUBLE_EQ(end["bytes_per_token"].get<double>(), bytes / static_cast<double>(tokens - 1));
    EXPECT_EQ(end["score"]["ids"], ids.size());
    if (std::string(drafts) != "auto") {
      EXPECT_GT(accepted, 40u) << drafts;
    }
    double sum = 0;
    for (const Json& token : RecordsOf(records, "token")) sum += token["logprob"].get<double>();
    EXPECT_NEAR(end["score"]["log_probability"].get<double>(), sum, 1e-9);
    EXPECT_NEAR(std::log(end["score"]["perplexity"].get<double>()),
                -sum / static_cast<double>(ids.size()), 1e-9);
  }
}

TEST_F(ForcedRun, EndsEarlierWhereItIsTold) {
  const ProcessResult ran = Force(RepeatedList(), {"-n", "7", "--output", "ids"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.out, JoinIds(RepeatedList(), 7) + "\n");
}

// A resumed run scores what it emits: with an end token that ends it now, less than was saved.
TEST_F(ForcedRun, AResumedRunScoresWhatItEmits) {
  std::vector<uint32_t> ids = RepeatedList();
  ids.resize(6);
  ids[2] = 1794;  // An end token of this checkpoint.
  const std::string state = folder.File("s");
  ASSERT_EQ(Force(ids, {"--ignore-eos", "--save-state", state, "--output", "json"}).exit_code, 0);
  const auto score = [](const ProcessResult& ran) { return Json::parse(ran.out)["score"]; };
  const ProcessResult whole = Force(ids, {"--output", "json"});
  const ProcessResult resumed = Force(ids, {"--output", "json", "--save-state", state, "--resume"});
  EXPECT_EQ(score(whole)["ids"], 3);
  EXPECT_EQ(score(resumed), score(whole));
}

TEST_F(ForcedRun, RefusesWhatCannotBeForced) {
  const std::string events = folder.File("e.jsonl");
  EXPECT_EQ(Force({}, {"--events", events}).exit_code, 2);
  EXPECT_EQ(Force({1, 4294967295u}, {"--events", events}).exit_code, 2);
  EXPECT_EQ(Force({1}, {"--force-ids", folder.File("none")}).exit_code, 2);
  EXPECT_EQ(RunPenstock({"generate", "-m", kTiny, "--ids", "1", "--output", "scores"}).exit_code,
            2);
  EXPECT_FALSE(ReadSmallFile(events));
}

}  // namespace
}  // namespace penstock::k3
