// Streaming, proven by the kernel's counters: a checkpoint three times as large as the budget, run
// by the program itself, judged by what the kernel says of the process when it has ended.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/checkpoint.h"
#include "io/file.h"
#include "models/k3/plan/planner.h"
#include "models/k3/synth/synth.h"
#include "models/k3/weights/catalogue.h"
#include "models/k3/weights/pass.h"
#include "runtime/size.h"
#include "tests/models/k3/synth/large_checkpoint.h"

namespace penstock::k3 {
namespace {

struct StreamedRun {
  int exit_code = -1;
  uint64_t peak_rss = 0;
  uint64_t read_bytes = 0;  // From the device, by the kernel's account of the process.
  std::vector<nlohmann::json> steps;
};

// Runs the program and waits for it, with the kernel's account of what it used.
StreamedRun Spawn(std::vector<std::string> arguments) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, STDOUT_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  StreamedRun ran;
  int status = 0;
  rusage usage{};
  EXPECT_EQ(wait4(child, &status, 0, &usage), child);
  ran.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  ran.peak_rss = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
  ran.read_bytes = static_cast<uint64_t>(usage.ru_inblock) * 512;
  return ran;
}

class DiskStreaming : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = testing::TempDir() + "penstock_streaming_" + std::to_string(getpid());
    std::filesystem::remove_all(directory_);
    const auto made = Synthesize(LargeCheckpoint(directory_), {});
    ASSERT_TRUE(made.has_value()) << made.error().message;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      checkpoint_bytes_ += entry.file_size();
    }
    config_ = *ReadConfig(directory_);
    const auto checkpoint = *io::Checkpoint::Open(directory_, nullptr);
    catalogue_ = std::make_unique<Catalogue>(*Catalogue::Build(*checkpoint, config_.shape));
  }
  static void TearDownTestSuite() {
    catalogue_.reset();
    std::filesystem::remove_all(directory_);
  }

  void SetUp() override {
    const auto files = io::FileSet::Open(catalogue_->files(), io::DirectMode::kAuto, nullptr);
    ASSERT_TRUE(files.has_value()) << files.error().message;
    if (files->direct_count() < files->size()) {
      GTEST_SKIP() << directory_ << " is on a file system without O_DIRECT: there is no device "
                   << "behind its reads to count";
    }
    alignment_ = files->Alignment();
  }

  static uint64_t Budget() { return checkpoint_bytes_ / 3; }

  StreamedRun Generate(size_t n, std::vector<std::string> more, uint64_t memory = Budget()) {
    const std::string events = directory_ + "/../penstock_events_" + std::to_string(getpid());
    std::vector<std::string> arguments = {PENSTOCK_BINARY,
                                          "generate",
                                          "-m",
                                          directory_,
                                          "--ids",
                                          "5,6,7",
                                          "-n",
                                          std::to_string(n),
                                          "-c",
                                          "64",
                                          "--memory",
                                          std::to_string(memory),
                                          "--ignore-eos",
                                          "--output",
                                          "ids",
                                          "--force",
                                          "--events",
                                          events};
    arguments.insert(arguments.end(), more.begin(), more.end());
    StreamedRun ran = Spawn(std::move(arguments));
    std::ifstream lines(events);
    for (std::string line; std::getline(lines, line);) {
      nlohmann::json event = nlohmann::json::parse(line);
      if (event["event"] == "step") ran.steps.push_back(std::move(event));
    }
    std::filesystem::remove(events);
    return ran;
  }

  uint64_t Rounded(uint64_t offset, uint64_t bytes) const {
    return (offset + bytes + alignment_ - 1) / alignment_ * alignment_ -
           offset / alignment_ * alignment_;
  }

  static bool IsPinned(const Pass& pass, uint32_t extent, size_t pinned) {
    return SpreadContains(pass.ProductOf(pass.extents()[extent]).layer, pinned,
                          config_.shape.layers + 1);
  }

  // Trunk and head without the layers that --pin `pinned` keeps, each extent rounded out.
  uint64_t TrunkAndHead(size_t pinned) const {
    const Pass pass = Pass::Build(*catalogue_, config_.shape, 8 * kMiB);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < pass.extents().size(); ++i) {
      if (IsPinned(pass, i, pinned)) continue;
      const io::Extent& extent = pass.extents()[i].extent;
      bytes += Rounded(extent.offset, extent.bytes);
    }
    return bytes;
  }

  // One expert: six tensors that lie one behind the other, read as one.
  uint64_t ExpertPayload() const {
    return 3 * config_.shape.expert_width * config_.shape.latent * 17 / 32;
  }

  static std::string directory_;
  static uint64_t checkpoint_bytes_;
  static Config config_;
  static std::unique_ptr<Catalogue> catalogue_;
  uint64_t alignment_ = 0;
};

std::string DiskStreaming::directory_;
uint64_t DiskStreaming::checkpoint_bytes_ = 0;
Config DiskStreaming::config_;
std::unique_ptr<Catalogue> DiskStreaming::catalogue_;

uint64_t DeviceBytes(const StreamedRun& ran) {
  uint64_t bytes = 0;
  for (const auto& step : ran.steps) bytes += step["device_bytes"].get<uint64_t>();
  return bytes;
}

TEST_F(DiskStreaming, TheProcessStaysWithinItsBudget) {
  ASSERT_GE(checkpoint_bytes_, 400u << 20);
  for (const char* engine : {"io_uring", "pread"}) {
    const StreamedRun ran = Generate(4, {"--ioengine", engine});
    ASSERT_EQ(ran.exit_code, 0) << engine;
    EXPECT_LE(ran.peak_rss, Budget() + std::max<uint64_t>(Budget() / 20, 16 << 20)) << engine;
  }
}

TEST_F(DiskStreaming, TheStepsReadWhatTheFormulaSays) {
  for (const size_t pinned : {size_t{0}, size_t{4}}) {
    const StreamedRun ran = Generate(6, {"--pin", std::to_string(pinned), "--expert-cache", "16M",
                                         "--prefill-chunk", "1", "--draft-max", "0"});
    ASSERT_EQ(ran.exit_code, 0);
    ASSERT_EQ(ran.steps.size(), 8u);  // Three prompt positions; the last token is not consumed.
    uint64_t misses = 0;
    for (const auto& step : ran.steps) {
      const uint64_t missed = step["expert_misses"].get<uint64_t>();
      misses += missed;
      const uint64_t wasted = step["predicted"]["wasted"].get<uint64_t>();
      EXPECT_EQ(step["bytes"]["expert"].get<uint64_t>(), missed * ExpertPayload() + wasted);
      EXPECT_EQ(missed + step["expert_hits"].get<uint64_t>(), 7 * config_.shape.top_k);
      // Trunk and head are the same in every step; an expert and the embedding row are rounded out
      // at both ends.
      const uint64_t device = step["device_bytes"].get<uint64_t>();
      const uint64_t least = TrunkAndHead(pinned) + missed * ExpertPayload() + wasted;
      EXPECT_GE(device, least);
      const uint64_t experts = missed + wasted / ExpertPayload();
      EXPECT_LE(device, least + experts * 2 * alignment_ + 2 * alignment_ + 2048);
    }
    EXPECT_GT(misses, 0u);
  }
}

TEST_F(DiskStreaming, TheKernelCountsTheSameBytes) {
  for (const char* engine : {"io_uring", "pread"}) {
    const std::vector<std::string> more = {"--ioengine", engine,  "--expert-cache",
                                           "16M",        "--pin", "0"};
    // The kernel counts the pages of the program itself too, where they were not in its cache: the
    // difference of two runs is free of them once both find theirs there.
    uint64_t counted = 0;
    uint64_t claimed = 0;
    for (int attempt = 0; attempt < 5 && (counted == 0 || counted != claimed); ++attempt) {
      const StreamedRun few = Generate(2, more);
      const StreamedRun many = Generate(6, more);
      ASSERT_EQ(few.exit_code, 0);
      ASSERT_EQ(many.exit_code, 0);
      counted = many.read_bytes - few.read_bytes;
      claimed = DeviceBytes(many) - DeviceBytes(few);
    }
    EXPECT_EQ(counted, claimed) << engine;
    EXPECT_GT(claimed, 4 * TrunkAndHead(0) - 1) << "four steps more";
  }
}

TEST_F(DiskStreaming, PinnedLayersAreNotRead) {
  const StreamedRun none = Generate(3, {"--pin", "0"});
  const StreamedRun four = Generate(3, {"--pin", "4"});
  ASSERT_EQ(none.exit_code, 0);
  ASSERT_EQ(four.exit_code, 0);
  const auto trunk_and_head = [](const StreamedRun& ran) {
    return ran.steps.back()["bytes"]["trunk"].get<uint64_t>() +
           ran.steps.back()["bytes"]["head"].get<uint64_t>();
  };
  const Pass pass = Pass::Build(*catalogue_, config_.shape, 8 * kMiB);
  uint64_t pinned_bytes = 0;
  for (uint32_t i = 0; i < pass.extents().size(); ++i) {
    if (IsPinned(pass, i, 4)) pinned_bytes += pass.extents()[i].extent.bytes;
  }
  EXPECT_GT(pinned_bytes, 0u);
  EXPECT_EQ(trunk_and_head(none) - trunk_and_head(four), pinned_bytes);
}

TEST_F(DiskStreaming, ABudgetThatCannotWorkIsRefusedBeforeAnythingIsAllocated) {
  const StreamedRun ran = Generate(1, {}, 24 << 20);
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_LT(ran.peak_rss, 64u << 20);
}

}  // namespace
}  // namespace penstock::k3
