#include "models/k3/commands/generate/run_record.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "models/k3/experts/replay.h"
#include "runtime/small_file.h"
#include "tests/models/k3/commands/penstock_process.h"

namespace penstock::k3 {
namespace {

std::vector<Json> RecordRun(const std::string& path, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"generate", "-m",       kTiny, "--output",
                                        "ids",      "--events", path};
  arguments.insert(arguments.end(), more.begin(), more.end());
  EXPECT_EQ(RunPenstock(arguments).exit_code, 0);
  return ReadRecords(path);
}

void ExpectKeys(const Json& record, std::initializer_list<const char*> keys) {
  for (const char* key : keys) EXPECT_TRUE(record.contains(key)) << key << " in " << record;
}

TEST(RunRecord, HasARecordForEachStepAndToken) {
  const TemporaryFolder folder;
  const ExpectedPrompt expected = ReadExpected(0);
  const auto records = RecordRun(folder.File("e.jsonl"),
                                 {"-p", expected.text, "-n", "6", "--ignore-eos", "--pin", "0"});
  for (const Json& record : records) EXPECT_EQ(record["schema"], kEventSchema);
  ASSERT_GE(records.size(), 3u);

  const Json& start = records.front();
  EXPECT_EQ(start["event"], "run_start");
  ExpectKeys(start, {"version", "config", "checkpoint_id", "label", "machine", "engine"});
  EXPECT_EQ(start["checkpoint_id"].get<std::string>().size(), 32u);
  EXPECT_EQ(start["config"]["generate"]["n-predict"], 6);
  EXPECT_EQ(start["prompt_ids"], Json(expected.ids));
  ExpectKeys(start["machine"], {"cpu", "kernel", "device", "huge_pages", "cgroup_memory_bytes"});

  const auto tokens = RecordsOf(records, "token");
  ASSERT_EQ(tokens.size(), 6u);
  std::string text;
  for (size_t i = 0; i < tokens.size(); ++i) {
    EXPECT_EQ(tokens[i]["id"], expected.greedy[i]);
    EXPECT_EQ(tokens[i]["pos"], expected.ids.size() + i);
    text += tokens[i]["text"].get<std::string>();
  }
  EXPECT_EQ(expected.greedy_text.rfind(text, 0), 0u);

  const auto steps = RecordsOf(records, "step");
  uint64_t positions = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    ExpectKeys(steps[i], {"t_ns", "accepted", "device_bytes", "reads", "stall_ns", "rss"});
    ExpectKeys(steps[i]["bytes"], {"trunk", "expert", "head", "embed"});
    EXPECT_EQ(steps[i]["n"], i);
    EXPECT_GT(steps[i]["rss"], 0);
    EXPECT_GT(steps[i]["bytes"]["trunk"], 0);
    positions += steps[i]["positions"].get<uint64_t>();
  }
  EXPECT_EQ(positions, expected.ids.size() + 5);  // The last token is not consumed.

  const Json& end = records.back();
  EXPECT_EQ(end["event"], "run_end");
  EXPECT_EQ(end["stop"], "length");
  EXPECT_EQ(end["tokens"], 6);
  EXPECT_EQ(end["steps"], steps.size());
}

TEST(RunRecord, NothingIsWrittenAmongTheWeights) {
  const std::string path = std::string(kTiny) + "/logits.bin";
  const ProcessResult refused =
      RunPenstock({"generate", "-m", kTiny, "-p", "a", "-n", "1", "--logits", path, "--force"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
}

// By whatever name: what one output writes, complete or not, no other one may.
TEST(RunRecord, OneFileIsOneOutput) {
  const TemporaryFolder folder;
  const auto refused = [&](const RunOptions& options, const std::string& save,
                           const std::string& load) {
    StateOptions state;
    state.save_state = save;
    state.load_state = load;
    const Status checked = RunRecord::CheckPaths(options, {}, state);
    return !checked && checked.error().code == ErrorCode::kRefused;
  };
  const std::string a = folder.File("a"), alias = folder.File(".") + "/a";
  RunOptions events;
  events.events = a;
  EXPECT_FALSE(refused(events, "", ""));
  EXPECT_FALSE(refused(events, folder.File("b"), ""));
  EXPECT_TRUE(refused(events, alias, ""));
  EXPECT_TRUE(refused(events, "", alias));
  EXPECT_FALSE(refused({}, a, alias));
  for (const std::string& other : {a, alias, a + ".partial"}) {
    RunOptions both = events;
    both.logits = other;
    EXPECT_TRUE(refused(both, "", "")) << other;
    std::swap(both.logits, both.events);
    EXPECT_TRUE(refused(both, "", "")) << other;
  }
}

TEST(RunRecord, IsNotReplacedUnasked) {
  const TemporaryFolder folder;
  const std::string path = folder.File("e.jsonl");
  const auto first = RecordRun(path, {"-p", "a", "-n", "1"});
  const ProcessResult refused =
      RunPenstock({"generate", "-m", kTiny, "-p", "a", "-n", "2", "--events", path});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_TRUE(refused.out.empty());
  EXPECT_EQ(ReadRecords(path), first);
  EXPECT_EQ(
      RecordsOf(RecordRun(path, {"-p", "a", "-n", "2", "--force", "--ignore-eos"}), "token").size(),
      2u);
}

// The fields that say where a step's time went.
TEST(RunRecord, AStepSaysWhatBoundsIt) {
  const TemporaryFolder folder;
  const auto records = RecordRun(folder.File("e.jsonl"), {"-p", "a", "-n", "3", "--ignore-eos"});
  auto told = RecordsOf(records, "step");
  told.push_back(records.back());
  for (const Json& record : told) {
    ExpectKeys(record, {"causes", "devices", "overlap", "nodes", "verdict"});
    ExpectKeys(record["verdict"], {"bound", "sentence", "advice"});
    ASSERT_EQ(record["devices"].size(), 1u);
    ExpectKeys(record["devices"][0], {"name", "window_bytes", "device_bytes", "busy_ns", "full_ns",
                                      "mean_depth_bytes", "latency_ns"});
    ExpectKeys(record["nodes"], {"product", "expert", "advance", "combine"});
    EXPECT_EQ(record["causes"].size(), 9u);
    uint64_t sum = 0;
    for (const Json& ns : record["causes"]) sum += ns.get<uint64_t>();
    if (record["event"] == "step") {
      EXPECT_EQ(sum, record["t_ns"]);
    }
  }
}

TEST(RunRecord, ATraceIsWrittenForTheChosenSteps) {
  const TemporaryFolder folder;
  const std::string trace = folder.File("t.json");
  const auto records = RecordRun(folder.File("e.jsonl"), {"-p", "a", "-n", "4", "--ignore-eos",
                                                          "--trace", trace, "--trace-steps", "1"});
  ASSERT_FALSE(records.empty());
  const auto text = ReadSmallFile(trace, size_t{1} << 28);
  ASSERT_TRUE(text.has_value());
  std::vector<Json> steps;
  const Json written = Json::parse(*text);
  for (const Json& event : written["traceEvents"]) {
    if (event["name"] == "step") steps.push_back(event["args"]["n"]);
  }
  EXPECT_EQ(steps, (std::vector<Json>{1}));
  EXPECT_FALSE(std::filesystem::exists(trace + ".partial"));

  const std::vector<std::string> run = {"generate", "-m", kTiny, "-p", "a", "-n", "1"};
  const auto refused = [&](std::vector<std::string> more) {
    more.insert(more.begin(), run.begin(), run.end());
    return RunPenstock(more).exit_code == 2;
  };
  EXPECT_TRUE(refused({"--trace", trace})) << "it is there already";
  EXPECT_TRUE(refused({"--trace", folder.File("u.json"), "--trace-steps", "900"}));
  EXPECT_TRUE(refused({"--trace", folder.File("u.json"), "--trace-steps", "2-1"}));
  EXPECT_TRUE(refused({"--trace-steps", "0"}));
  EXPECT_TRUE(refused({"--trace", folder.File("u.json"), "--events", folder.File("u.json")}));
  EXPECT_FALSE(std::filesystem::exists(folder.File("u.json")));
  EXPECT_EQ(ReadSmallFile(trace, size_t{1} << 28).value(), *text);
}

// A text of which a drafter guesses much, and some of it wrong.
std::string NearlyRepeated() {
  std::string ids;
  for (int reading = 0; reading < 3; ++reading) {
    for (int i = 0; i < 16; ++i) {
      ids += std::to_string(i % 8 == 7 ? 100 + 16 * reading + i : i * i + 20) + " ";
    }
  }
  return ids;
}

// Beside the step events: their n, the positions that they took, and each expert demanded once.
TEST(RunRecord, RoutesAreThoseOfTheStepsAndOfTheirPositions) {
  const TemporaryFolder folder;
  std::ofstream(folder.File("ids.txt")) << NearlyRepeated();
  const auto records = RecordRun(
      folder.File("e.jsonl"), {"--ids", "3,1,4,1,5,9,2", "--prefill-chunk", "3", "--draft-max", "4",
                               "--force-ids", folder.File("ids.txt"), "--pin", "0",
                               "--expert-cache", "1M", "--routes", folder.File("r.jsonl")});
  const auto routes = ReadRoutes(folder.File("r.jsonl"));
  ASSERT_TRUE(routes.has_value()) << routes.error().message;
  std::map<uint64_t, std::set<std::pair<uint32_t, uint32_t>>> experts;
  std::map<uint64_t, std::set<uint64_t>> positions;
  uint64_t chosen = 0, demanded = 0, refused = 0, chunks = 0, begin = 0;
  for (const Route& route : routes->routes) {
    for (const uint32_t expert : route.chosen) experts[route.n].emplace(route.layer, expert);
    positions[route.n].insert(route.position);
    chosen += route.chosen.size();
  }
  const auto steps = RecordsOf(records, "step");
  EXPECT_EQ(experts.size(), steps.size());
  for (const Json& step : steps) {
    const auto n = step["n"].get<uint64_t>(), count = step["positions"].get<uint64_t>();
    const uint64_t refusals = step["drafted"].get<uint64_t>() - step["accepted"].get<uint64_t>();
    const uint64_t uses =
        step["expert_hits"].get<uint64_t>() + step["expert_misses"].get<uint64_t>();
    EXPECT_EQ(experts[n].size(), uses) << n;
    ASSERT_EQ(positions[n].size(), count) << n;
    EXPECT_EQ(*positions[n].begin(), begin) << n;
    EXPECT_EQ(*positions[n].rbegin(), begin + count - 1) << n;
    begin += count - refusals;
    refused += refusals;
    demanded += uses;
    chunks += step["prompt"].get<bool>() && count == 3;
  }
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(chunks, 2u);
  EXPECT_LT(demanded, chosen);
  const RoutesReplay replay = ReplayRoutes(*routes, {}, {});
  EXPECT_EQ(replay.steps, steps.size());
  EXPECT_EQ(replay.requests, demanded);
}

TEST(RunRecord, LabelSpeaksOfAllExperts) {
  Shape shape;
  shape.top_k = 16;
  EXPECT_NE(FidelityLabel(shape, false).find("experts 16/16"), std::string::npos);
}

}  // namespace
}  // namespace penstock::k3
