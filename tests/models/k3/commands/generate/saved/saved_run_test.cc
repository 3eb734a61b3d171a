// Runs that are saved, ended by whatever, and gone on with: what comes out is what a run that was not
// interrupted gives.
#include "models/k3/commands/generate/saved/saved_run.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "io/pack/write/output_file.h"
#include "io/sealed/sealed_file.h"
#include "models/k3/config/shape.h"
#include "runtime/small_file.h"
#include "tests/models/k3/commands/penstock_process.h"

namespace penstock::k3 {
namespace {

using Words = std::vector<std::string>;

struct SavedRunCommand : testing::Test {
  static Words Join(Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // Of a model, the tiny one unless said otherwise: ids alone.
  static Words Arguments(const Words& more, const std::string& model = kTiny) {
    return Join({"generate", "-m", model, "--output", "ids"}, more);
  }
  static std::string Ids(const Words& more) {
    const ProcessResult result = RunPenstock(Arguments(more));
    EXPECT_EQ(result.exit_code, 0) << testing::PrintToString(more) << result.err;
    return result.out;
  }
  // Exit code 2, with a sentence that has all of `named`, and the state as it was.
  void ExpectRefused(const Words& more, const Words& named = {},
                     const std::string& model = kTiny) const {
    const auto before = ReadSmallFile(state);
    const ProcessResult result = RunPenstock(Arguments(more, model));
    EXPECT_EQ(result.exit_code, 2) << testing::PrintToString(more) << result.err;
    EXPECT_TRUE(result.out.empty());
    for (const std::string& part : named) {
      EXPECT_NE(result.err.find(part), std::string::npos) << part << " in " << result.err;
    }
    const auto after = ReadSmallFile(state);
    ASSERT_EQ(before.has_value(), after.has_value());
    EXPECT_TRUE(!before || *before == *after);
  }
  // Ends a run that takes its time as soon as `when` holds.
  ProcessResult Interrupt(const Words& more, int signal, const std::function<bool()>& when) const {
    PenstockProcess process(Arguments(more));
    EXPECT_TRUE(Eventually(when));
    process.Signal(signal);
    return process.Wait();
  }
  size_t Events(const std::string& name) const {
    const auto text = ReadSmallFile(events);
    size_t count = 0;
    const std::string mark = "\"event\":\"" + name + "\"";
    for (size_t at = 0; text && (at = text->find(mark, at)) != std::string::npos; ++at) ++count;
    return count;
  }
  // 0 without a state.
  size_t Position(const std::string& path) const {
    const auto saved = SavedState::Open(path);
    return saved ? saved->facts().position : 0;
  }
  // The embedded checkpoint, to be changed.
  std::string CopyOfTiny() const {
    const std::string copy = folder.File("model");
    std::filesystem::copy(kTiny, copy);
    return copy;
  }
  static void Replace(const std::string& path, const std::string& from, const std::string& to) {
    std::string text = *ReadSmallFile(path, size_t{64} << 20);
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, from.size(), to);
    std::ofstream(path, std::ios::trunc) << text;
  }

  TemporaryFolder folder;
  const std::string state = folder.File("s.state");
  const std::string events = folder.File("e.jsonl");
  const Words greedy = {"-p", "She", "--ignore-eos"};
  const Words sampled = {"-p", "She", "--ignore-eos", "--temp", "0.8", "--seed", "7", "-n", "40"};
  const Words save = {"--save-state", state};
  const Words resume = {"--save-state", state, "--resume"};
};

TEST_F(SavedRunCommand, ResumedRunsGiveTheIdsOfOne) {
  for (const Words& base : {Join(greedy, {"-n", "40"}), sampled}) {
    std::filesystem::remove(state);
    const std::string whole = Ids(base);
    Words part = base;
    part.back() = "11";
    const std::string begun = Ids(Join(part, save));
    EXPECT_EQ(whole.rfind(begun.substr(0, begun.size() - 1), 0), 0u);
    EXPECT_EQ(Position(state), 11u) << "one id of the prompt, and all but the last one";
    EXPECT_EQ(Ids(Join(part, resume)), begun) << "nothing is left to do";
    EXPECT_EQ(Ids(Join(base, resume)), whole);
    EXPECT_EQ(Position(state), 40u);
  }
}

TEST_F(SavedRunCommand, ResumingShowsEarlierTokensAgainAndComputesTheRest) {
  const std::string logits = folder.File("l.f32");
  ASSERT_EQ(
      Ids(Join(greedy, Join(save, {"-n", "5", "--checkpoint-every", "2", "--events", events}))),
      Ids(Join(greedy, {"-n", "5"})));
  auto saves = RecordsOf(ReadRecords(events), "state_saved");
  ASSERT_EQ(saves.size(), 3u) << "behind 2 and 4 tokens and at the end";
  EXPECT_EQ(saves[0]["pos"], 2);
  EXPECT_EQ(saves[1]["pos"], 4);
  EXPECT_EQ(saves[2]["pos"], 5);
  EXPECT_EQ(saves[2]["path"], state);
  EXPECT_EQ(saves[2]["bytes"], std::filesystem::file_size(state));
  const ProcessResult result =
      RunPenstock(Arguments(Join(greedy, Join(resume, {"-n", "8", "--events", events, "--force",
                                                       "--stats", "--logits", logits}))));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("state saved"), std::string::npos);
  const auto records = ReadRecords(events);
  const auto tokens = RecordsOf(records, "token");
  ASSERT_EQ(tokens.size(), 8u);
  for (size_t i = 0; i < tokens.size(); ++i) EXPECT_EQ(tokens[i]["pos"], i + 1);
  EXPECT_EQ(records[0]["start"], 5);
  EXPECT_EQ(records[0]["replayed"], 5);
  EXPECT_EQ(RecordsOf(records, "step").size(), 3u);
  EXPECT_EQ(std::filesystem::file_size(logits), 3 * 2048 * sizeof(float));
  EXPECT_EQ(records.back()["tokens"], 8);
}

TEST_F(SavedRunCommand, WithoutAFileARunStartsFromTheBeginningAndSaysSo) {
  const ProcessResult result = RunPenstock(Arguments(Join(greedy, Join(resume, {"-n", "4"}))));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.err.find(state + " is not there"), std::string::npos) << result.err;
  EXPECT_EQ(result.out, Ids(Join(greedy, {"-n", "4"})));
  EXPECT_EQ(Position(state), 4u);
}

TEST_F(SavedRunCommand, ALoadedStateGoesOnWithAndWithoutAPrompt) {
  const std::string all = Ids(Join(greedy, {"-n", "20"}));
  const std::string first = Ids(Join(greedy, Join(save, {"-n", "12"})));
  const std::string rest =
      Ids({"--load-state", state, "-n", "8", "--ignore-eos", "--draft-max", "3"});
  EXPECT_EQ(first.substr(0, first.size() - 1) + "," + rest, all);
  // With a prompt behind: as if all ids so far had been the prompt.
  const std::string more = ",17,18,19,20,21,22";
  const std::string ids = std::to_string(SavedState::Open(state)->facts().sequence.ids[0]) + "," +
                          first.substr(0, first.size() - 1) + more;
  const Words sampling = {"-n", "9", "--ignore-eos", "--temp", "0.8", "--seed", "3"};
  const std::string second = folder.File("second");
  EXPECT_EQ(Ids(Join(sampling, {"--load-state", state, "--ids", more.substr(1), "--save-state",
                                second, "--prefill-chunk", "2"})),
            Ids(Join(sampling, {"--ids", ids})));
  const auto saved = SavedState::Open(second);
  ASSERT_TRUE(saved) << saved.error().message;
  EXPECT_EQ(saved->facts().sequence.prompt, 19u);
  EXPECT_EQ(saved->facts().position, 19u + 8);
  // Such a run is resumed like any other: with the same command.
  Words longer = sampling;
  longer[1] = "15";
  EXPECT_EQ(Ids(Join(longer, {"--load-state", state, "--ids", more.substr(1), "--save-state",
                              second, "--resume"})),
            Ids(Join(longer, {"--ids", ids})));
}

TEST_F(SavedRunCommand, AnEndTokenAndTheContextEndAResumedRunToo) {
  const std::string model = CopyOfTiny();
  // The seventh token of the run becomes an end token.
  Replace(model + "/generation_config.json", "1794", "282");
  const Words base = {"generate", "-m", model, "--output", "json", "-p", "She", "-n", "20"};
  const auto stop = [&](const Words& more) {
    const Json object = Json::parse(RunPenstock(Join(base, more)).out, nullptr, false);
    EXPECT_FALSE(object.is_discarded());
    return object["stop"].get<std::string>() + " " + object["ids"].dump();
  };
  const std::string whole = stop(save);
  EXPECT_EQ(whole, "eos [339,406,291,266,809,44,282]");
  EXPECT_EQ(stop(resume), whole);
  const std::string going_on = stop({"--ignore-eos"});
  EXPECT_EQ(stop(Join(resume, {"--ignore-eos"})), going_on);
  EXPECT_EQ(stop(resume), whole) << "of a longer run";
  std::filesystem::remove(state);
  const std::string full = stop(Join(save, {"-c", "5"}));
  EXPECT_EQ(full.rfind("context", 0), 0u);
  EXPECT_EQ(stop(Join(resume, {"-c", "5"})), full);
}

// Teacher forcing: the score of the whole run, to the last bit.
TEST_F(SavedRunCommand, AForcedRunIsScoredAsAWhole) {
  const std::string forced = folder.File("forced");
  std::ofstream(forced) << "17,18,19,20,21,22,23,24";
  const Words base = {"generate", "-m",  kTiny,          "--output",    "json",
                      "-p",       "She", "--ignore-eos", "--force-ids", forced};
  const auto score = [&](const Words& more) {
    const ProcessResult result = RunPenstock(Join(base, more));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const Json object = Json::parse(result.out, nullptr, false);
    return object["score"].dump() + object["log_probabilities"].dump() + object["ids"].dump();
  };
  const std::string whole = score({});
  score(Join(save, {"-n", "3"}));
  EXPECT_EQ(SavedState::Open(state)->facts().sequence.log_probabilities.size(), 3u);
  EXPECT_EQ(score(resume), whole);
  EXPECT_EQ(score(resume), whole) << "nothing is left to do";
  ExpectRefused(Join(greedy, resume), {"--force-ids"});
  ExpectRefused(Join(greedy, Join(resume, {"--force-ids", forced, "-n", "7"})), {"8", "7"});
  std::ofstream(forced) << "17,18,9";
  ExpectRefused(Join(greedy, Join(resume, {"--force-ids", forced})), {"19", "9"});
}

TEST_F(SavedRunCommand, RefusesAnotherRunWithBothValues) {
  Ids(Join(sampled, save));
  const auto changed = [&](const std::string& from, const std::string& to) {
    Words words = Join(sampled, resume);
    *std::find(words.begin(), words.end(), from) = to;
    return words;
  };
  ExpectRefused(changed("She", "He"), {"prompt", state});
  ExpectRefused(changed("She", "She was"), {"expected 1 ", "got 2"});
  ExpectRefused(changed("7", "8"), {"--seed", "7", "8"});
  ExpectRefused(changed("0.8", "0.9"), {"--temp", "0.8", "0.9"});
  ExpectRefused(changed("40", "39"), {"40", "39"});
  ExpectRefused(Join(sampled, Join(resume, {"-c", "39"})), {"40", "39"});
  ExpectRefused({"--load-state", state, "-c", "40", "-n", "1"}, {"41", "40"});
}

TEST_F(SavedRunCommand, RefusesWhatCannotWork) {
  ExpectRefused(Join(greedy, {"--resume"}), {"--save-state"});
  ExpectRefused(Join(greedy, {"--checkpoint-every", "1"}), {"--save-state"});
  ExpectRefused({"-n", "1"});
  ExpectRefused({"--load-state", state}, {state});
  ExpectRefused(Join(greedy, {"--save-state", folder.File("none/s")}), {"none/s"});
  ExpectRefused(Join(greedy, {"--save-state", folder.File("")}));
  ExpectRefused(Join(greedy, {"--save-state", kTiny + "/s"}), {kTiny});
  ExpectRefused(Join(greedy, Join(save, {"--events", state})), {state});
  EXPECT_TRUE(std::filesystem::is_empty(folder.File("")));
  const Words short_run = Join(greedy, {"-n", "2"});
  Ids(Join(short_run, save));
  ExpectRefused(Join(short_run, save), {"--force"});
  ExpectRefused({"--load-state", state, "--events", state, "--force"}, {state});
  ExpectRefused(Join(short_run, Join(resume, {"--load-state", state})), {state});
  Ids(Join(short_run, Join(save, {"--force"})));
}

// Before an engine is there: nothing is pinned for a state that cannot be written.
TEST_F(SavedRunCommand, OpeningItRefusesAStateThatCannotBeWritten) {
  GenerateSettings settings;
  settings.run.model = kTiny;
  const auto config = ReadConfig(kTiny);
  ASSERT_TRUE(config);
  for (const std::string& path : {folder.File("none/s"), folder.File("")}) {
    settings.state.save_state = path;
    const auto opened = SavedRun::Open(settings, *config, {5}, nullptr);
    ASSERT_FALSE(opened) << path;
    EXPECT_EQ(opened.error().code, ErrorCode::kRefused);
    EXPECT_NE(opened.error().message.find(path), std::string::npos) << opened.error().message;
  }
  settings.state.save_state = state;
  EXPECT_TRUE(SavedRun::Open(settings, *config, {5}, nullptr));
  EXPECT_TRUE(std::filesystem::is_empty(folder.File("")));
}

// Facts that were made up: nothing prints a score that is not there.
TEST_F(SavedRunCommand, RefusesForcedIdsWithoutTheirLogProbabilities) {
  const std::string forced = folder.File("forced");
  std::ofstream(forced) << "17,18,19,20";
  const auto replace_scores = [this](std::vector<double> scores) {
    auto reader = *io::SealedReader::Open(state, kSavedStateKind);
    std::vector<std::byte> payload(reader.payload_bytes());
    ASSERT_TRUE(reader.Read(payload));
    SavedFacts facts = *ParseFacts(reader.facts(), state);
    facts.sequence.log_probabilities = std::move(scores);
    auto writer =
        *io::SealedWriter::Create(state, kSavedStateKind, FormatFacts(facts), payload.size());
    ASSERT_TRUE(writer.Append(payload));
    ASSERT_TRUE(writer.Seal());
  };
  const Words force = {"--force-ids", forced};
  Ids(Join(greedy, Join(force, Join(save, {"-n", "2"}))));
  replace_scores({});
  ExpectRefused(Join(greedy, Join(force, Join(resume, {"--output", "scores"}))), {state, "2", "0"});
  std::filesystem::remove(state);
  Ids(Join(greedy, Join(save, {"-n", "2"})));
  replace_scores({-1.5, -2.5});
  ExpectRefused(Join(greedy, resume), {state, "0", "2"});
}

TEST_F(SavedRunCommand, RefusesAFileThatIsNotWholeAndAnotherModels) {
  const Words base = Join(greedy, {"-n", "3"});
  Ids(Join(base, save));
  const std::string model = CopyOfTiny();
  const Words load = {"--load-state", state, "-n", "1"};
  EXPECT_EQ(RunPenstock(Arguments(load, model)).exit_code, 0) << "the same wherever it lies";
  const SavedFacts facts = SavedState::Open(state)->facts();
  // The same shapes with other weights.
  const std::string shard = model + "/model-00004-of-000004.safetensors";
  const std::string weights = *ReadSmallFile(shard, size_t{64} << 20);
  std::string other = weights;
  for (size_t at = weights.size() / 2; at < weights.size(); at += 1024) other[at] ^= 1;
  std::ofstream(shard, std::ios::trunc | std::ios::binary) << other;
  ExpectRefused(load, {facts.owner.checkpoint_id}, model);
  ExpectRefused(Join(base, resume), {facts.owner.checkpoint_id}, model);
  std::ofstream(shard, std::ios::trunc | std::ios::binary) << weights;
  // The same weights with another config.
  Replace(model + "/config.json", "\"rms_norm_eps\": 1e-05", "\"rms_norm_eps\": 2e-05");
  ExpectRefused(load, {facts.owner.config}, model);
  const std::string whole = *ReadSmallFile(state);
  for (const size_t size : {size_t{0}, size_t{31}, whole.size() / 2, whole.size() - 1}) {
    std::ofstream(state, std::ios::trunc | std::ios::binary) << whole.substr(0, size);
    ExpectRefused(load, {state});
    ExpectRefused(Join(base, resume), {state});
  }
  std::string flipped = whole;
  flipped[whole.size() / 2] ^= 4;
  std::ofstream(state, std::ios::trunc | std::ios::binary) << flipped;
  ExpectRefused(load, {state});
}

// --- what ends a run ---

struct FaultSavedRun : SavedRunCommand {};

TEST_F(FaultSavedRun, ASignalLeavesAStateToGoOnFrom) {
  const Words base = Join(greedy, {"-n", "30"});
  const std::string whole = Ids(base);
  const Words slow = {"--pin", "0", "--pace", "30M", "--events", events};
  const ProcessResult ended =
      Interrupt(Join(base, Join(save, slow)), SIGINT, [&] { return Events("token") >= 2; });
  EXPECT_EQ(ended.exit_code, 130) << ended.err;
  EXPECT_GE(Position(state), 2u);
  EXPECT_LT(Position(state), 30u);
  EXPECT_EQ(Events("state_saved"), 1u);
  EXPECT_EQ(Ids(Join(base, resume)), whole);
}

TEST_F(FaultSavedRun, ASignalInThePromptLeavesWhatWasReadOfIt) {
  const Words base = {"--ids", "5,6,7,8,9,10,11,12,13,14", "-n", "6", "--ignore-eos"};
  const std::string whole = Ids(base);
  const Words slow = {"--pin", "0",        "--pace", "30M",         "--prefill-chunk",
                      "2",     "--events", events,   "--draft-max", "0"};
  const ProcessResult ended =
      Interrupt(Join(base, Join(save, slow)), SIGTERM, [&] { return Events("step") >= 1; });
  EXPECT_EQ(ended.exit_code, 143) << ended.err;
  EXPECT_GE(Position(state), 2u);
  EXPECT_LT(Position(state), 10u);
  EXPECT_EQ(Ids(Join(base, resume)), whole);
}

TEST_F(FaultSavedRun, KilledAnywhereItEndsWithTheSameIds) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  Words base = sampled;
  base.back() = "80";
  const std::string whole = Ids(base);
  const Words every = Join(base, Join(resume, {"--checkpoint-every", "1"}));
  size_t position = 0;
  for (int kill = 0; kill < 10; ++kill) {
    const size_t before = position;
    PenstockProcess process(Arguments(every));
    ASSERT_TRUE(Eventually([&] { return Position(state) > before; }));
    // Nearly all of the time is spent in saving.
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 6000));
    process.Signal(SIGKILL);
    process.Wait();
    position = Position(state);
    ASSERT_GT(position, before) << "kill " << kill;
    auto saved = SavedState::Open(state);
    ASSERT_TRUE(saved) << saved.error().message;
  }
  EXPECT_EQ(Ids(every), whole);
  EXPECT_FALSE(std::filesystem::exists(state + ".partial"));
}

// --- two runs on one file ---

// From the beginning, and again after a save; to read it is anybody's.
TEST_F(FaultSavedRun, ARunHoldsItsFile) {
  Ids(Join(greedy, Join(save, {"-n", "19"})));
  const Words base = Join(greedy, {"-n", "40"});
  PenstockProcess first(
      Arguments(Join(base, Join(resume, {"--pin", "0", "--pace", "20M", "--checkpoint-every", "25",
                                         "--events", events}))));
  for (const char* const event : {"run_start", "state_saved"}) {
    ASSERT_TRUE(Eventually([&] { return Events(event) == 1; })) << first.ErrSoFar();
    const ProcessResult second = RunPenstock(Arguments(Join(base, resume)));
    EXPECT_EQ(second.exit_code, 2) << second.err;
    EXPECT_NE(second.err.find(state + ": another run"), std::string::npos) << second.err;
    EXPECT_TRUE(second.out.empty());
    Ids({"--load-state", state, "-n", "1"});
  }
  first.Signal(SIGINT);
  EXPECT_EQ(first.Wait().exit_code, 130);
  EXPECT_EQ(Ids(Join(base, resume)), Ids(base));
}

// No file yet that says so: the second one learns it when it saves, and does not disturb the first.
TEST_F(FaultSavedRun, AFileThatAnotherRunWritesIsLeftToIt) {
  const Words base = Join(greedy, {"-n", "3"});
  auto other = io::SealedWriter::Create(state, kSavedStateKind, "other", 5);
  ASSERT_TRUE(other);
  for (const Words& more : {resume, Join(save, {"--force"})}) {
    const ProcessResult result = RunPenstock(Arguments(Join(base, more)));
    EXPECT_EQ(result.exit_code, 1) << result.err;
    EXPECT_NE(result.err.find(state + ": another run"), std::string::npos) << result.err;
    EXPECT_EQ(result.out, Ids(base)) << "what was generated is out";
    EXPECT_FALSE(std::filesystem::exists(state));
  }
  ASSERT_TRUE(other->Append(std::vector<std::byte>(5)));
  ASSERT_TRUE(other->Seal());
  EXPECT_EQ(io::SealedReader::Open(state, kSavedStateKind)->facts(), "other");
}

// Of two at once at least one comes through, and the file is whole at any time.
TEST_F(FaultSavedRun, TwoAtOnceLeaveAWholeFile) {
  const Words base = Join(greedy, {"-n", "60"});
  const std::string whole = Ids(base);
  const Words every = Join(base, Join(resume, {"--checkpoint-every", "1"}));
  for (int turn = 0; turn < 4; ++turn) {
    std::filesystem::remove(state);
    PenstockProcess first(Arguments(every)), second(Arguments(every));
    ASSERT_TRUE(Eventually([&] { return std::filesystem::exists(state); }));
    for (int look = 0; look < 50; ++look) {
      auto reader = io::SealedReader::Open(state, kSavedStateKind);
      ASSERT_TRUE(reader) << reader.error().message;
      std::vector<std::byte> payload(reader->payload_bytes());
      const Status read = reader->Read(payload);
      ASSERT_TRUE(read) << read.error().message;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    size_t through = 0;
    for (PenstockProcess* const process : {&first, &second}) {
      const ProcessResult result = process->Wait();
      through += result.exit_code == 0;
      if (result.exit_code == 0) {
        EXPECT_EQ(result.out, whole);
        continue;
      }
      EXPECT_TRUE(result.exit_code == 1 || result.exit_code == 2) << result.exit_code;
      EXPECT_NE(result.err.find(state + ": another run"), std::string::npos) << result.err;
    }
    EXPECT_GE(through, 1u);
    EXPECT_EQ(Ids(Join(base, resume)), whole);
    EXPECT_FALSE(std::filesystem::exists(state + ".partial"));
  }
}

// A limit on the size of files in place of a full device.
TEST_F(FaultSavedRun, AFullDiskKeepsTheOldState) {
  const Words base = Join(greedy, {"-n", "40"});
  Ids(Join(greedy, Join(save, {"-n", "4"})));
  const std::string old = *ReadSmallFile(state);
  const auto run_with = [&](size_t room) {
    rlimit before{};
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit limit{room, before.rlim_max};
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    PenstockProcess process(Arguments(Join(base, Join(resume, {"--checkpoint-every", "5"}))));
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    return process.Wait();
  };
  for (const size_t room : {size_t{20'000}, old.size() + 100}) {
    const ProcessResult result = run_with(room);
    EXPECT_EQ(result.exit_code, 1) << result.err;
    EXPECT_NE(result.err.find(state), std::string::npos) << result.err;
    EXPECT_FALSE(result.out.empty()) << "what was generated is out";
    EXPECT_TRUE(*ReadSmallFile(state) == old);
    EXPECT_FALSE(std::filesystem::exists(state + ".partial"));
  }
  EXPECT_EQ(Ids(Join(base, resume)), Ids(base));
}

// What must not be trusted is not kept.
TEST_F(SavedRunCommand, AnUnsoundRunIsNotSaved) {
  std::ofstream(folder.File("other"))
      << "{\"schema\":\"penstock.event.v1\",\"event\":\"token\",\"id\":339}\n"
      << "{\"schema\":\"penstock.event.v1\",\"event\":\"token\",\"id\":1}\n";
  const ProcessResult result = RunPenstock(
      Arguments(Join(greedy, Join(save, {"-n", "5", "--verify-against", folder.File("other")}))));
  EXPECT_EQ(result.exit_code, 4) << result.err;
  EXPECT_FALSE(std::filesystem::exists(state));
}

}  // namespace
}  // namespace penstock::k3
