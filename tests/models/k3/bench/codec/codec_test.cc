#include "models/k3/bench/codec/codec.h"

#include <algorithm>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "ops/codec/choose.h"
#include "runtime/cpu/affinity.h"
#include "tests/models/k3/tiny_model.h"

namespace penstock::k3 {
namespace {

CodecBenchOptions SmallCodecBench() {
  CodecBenchOptions options;
  options.bytes.bytes = 300'000;
  options.repetitions = 2;
  options.chunk = 4096;
  return options;
}

// On a thread of its own, because the caller's is pinned.
Result<std::vector<CodecRow>> Bench(const CodecBenchOptions& options,
                                    const BenchHooks& hooks = {}) {
  Result<std::vector<CodecRow>> result = Failed("not run");
  std::thread([&] { result = BenchCodec(options, hooks); }).join();
  return result;
}

std::set<std::string> NamesOf(const std::vector<CodecRow>& rows, const std::string& data) {
  std::set<std::string> out;
  for (const CodecRow& row : rows) {
    if (row.data != data) continue;
    EXPECT_TRUE(out.insert(row.codec).second) << row.codec;
  }
  return out;
}

std::set<std::string> AllNames() {
  std::set<std::string> names = {"memcpy",  "memcpy-whole", "raw",          "raw+sum",
                                 "chain",   "chain+sum",    "chain-tile",   "chain-encode",
                                 "huffman", "huffman+sum",  "huffman-tile", "huffman-encode",
                                 "zstd-1",  "huffman-plain"};
  for (const auto* kernels : ops::ChainKernelsHere()) {
    names.insert(std::string("chain-") + kernels->name);
  }
  for (const auto* kernels : ops::HuffmanKernelsHere()) {
    names.insert(std::string("huffman-") + kernels->name);
  }
  return names;
}

TEST(CodecBench, HasTheDocumentedRowsForBothKindsOfWeights) {
  CodecBenchOptions options = SmallCodecBench();
  options.model = kTiny;
  const auto rows = Bench(options);
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(NamesOf(*rows, "syn"), AllNames());
  EXPECT_EQ(NamesOf(*rows, "trunk"), AllNames());
  EXPECT_EQ(rows->front().data, "syn");
  for (const CodecRow& row : *rows) {
    SCOPED_TRACE(row.codec);
    EXPECT_GT(row.ratio, 0.5);
    EXPECT_LT(row.ratio, 1.1);
    EXPECT_GT(row.gbps_median, 0);
    EXPECT_GE(row.gbps_best, row.gbps_median);
    EXPECT_GT(row.memcpy_median, 0);
    EXPECT_GT(row.memcpy_ratio, 0);
    EXPECT_TRUE(row.zstd1_ratio);
    EXPECT_EQ(row.clock, "cpu");
    EXPECT_EQ(row.checksum, row.codec.ends_with("+sum"));
    EXPECT_EQ(row.ratio < 0.9, !row.codec.starts_with("memcpy") && !row.codec.starts_with("raw"));
    if (row.codec.ends_with("-encode")) continue;  // Whole stripes: one, or several small ones.
    EXPECT_EQ(row.bytes < 300'000, row.codec == "huffman-plain");
  }
}

TEST(CodecBench, SlowRowsDoAnEighthAndAreScaled) {
  CodecBenchOptions options = SmallCodecBench();
  options.bytes.bytes = 1'000'000;
  options.codec = "huffman";
  const auto rows = Bench(options);
  ASSERT_TRUE(rows);
  size_t bytes = 0;
  for (const CodecRow& row : *rows) {
    EXPECT_FALSE(row.zstd1_ratio);
    if (row.codec == "huffman-plain") bytes = row.bytes;
  }
  EXPECT_EQ(bytes, 15 * 8192u);  // Of 123 chunks.
  std::set<std::string> names = AllNames();
  std::erase_if(names, [](const std::string& name) {
    return name.starts_with("raw") || name.starts_with("chain") || name.starts_with("zstd");
  });
  EXPECT_EQ(NamesOf(*rows, "syn"), names);
}

TEST(CodecBench, ThreadsAreMeasuredBesideOne) {
  if (AllowedCpus()->size() < 2) GTEST_SKIP() << "one CPU";
  CodecBenchOptions options = SmallCodecBench();
  options.threads = 2;
  options.codec = "chain,raw";
  const auto rows = Bench(options);
  ASSERT_TRUE(rows) << rows.error().message;
  const std::set<std::string> names = NamesOf(*rows, "syn");
  for (const std::string codec : {"memcpy", "raw", "chain"}) {
    EXPECT_TRUE(names.contains(codec + " x1 threads"));
    EXPECT_TRUE(names.contains(codec + " x2 threads"));
    EXPECT_TRUE(names.contains(codec + " x2 threads cpu"));
  }
  for (const CodecRow& row : *rows) {
    SCOPED_TRACE(row.codec);
    const bool two = row.codec.find(" x2 ") != std::string::npos;
    EXPECT_EQ(row.threads, two ? 2u : 1u);
    EXPECT_EQ(row.x_one_thread.has_value(), two);
    EXPECT_EQ(row.clock == "wall", row.codec.ends_with("threads"));
    EXPECT_EQ(row.clock == "busiest", row.codec.ends_with("threads cpu"));
    EXPECT_GT(row.memcpy_median, 0);
  }
}

TEST(CodecBench, RefusesWhatCannotWork) {
  const unsigned last = AllowedCpus()->cpus.back();
  const auto refused = [](auto change) {
    CodecBenchOptions options = SmallCodecBench();
    change(options);
    const auto rows = Bench(options);
    return !rows && rows.error().code == ErrorCode::kRefused;
  };
  using Options = CodecBenchOptions;
  EXPECT_TRUE(refused([](Options& o) { o.codec = "chain,huffmann"; }));
  EXPECT_TRUE(refused([](Options& o) { o.codec = ","; }));
  EXPECT_TRUE(refused([](Options& o) { o.cpu = "x"; }));
  EXPECT_TRUE(refused([](Options& o) { o.cpu = std::to_string(kMaxCpuId); }));
  EXPECT_TRUE(refused([&](Options& o) { o.cpu = std::to_string(last), o.threads = 2; }));
  EXPECT_TRUE(refused([](Options& o) { o.model = "/absent"; }));
  EXPECT_TRUE(refused([](Options& o) { o.bytes.bytes = kTiB; }));
}

TEST(CodecBench, StopsInEachStage) {
  std::set<std::string> stages;
  const auto seen =
      Bench(SmallCodecBench(), {.notice = {}, .progress = [&](const BenchProgress& progress) {
                                  stages.emplace(progress.stage);
                                  EXPECT_LE(progress.done, progress.total);
                                  return true;
                                }});
  ASSERT_TRUE(seen);
  EXPECT_EQ(stages.size(), 5u);
  for (const std::string& stage : stages) {
    const auto stopped =
        Bench(SmallCodecBench(), {.notice = {}, .progress = [&](const BenchProgress& progress) {
                                    return progress.stage != stage;
                                  }});
    ASSERT_FALSE(stopped) << stage;
    EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled) << stage;
  }
}

}  // namespace
}  // namespace penstock::k3
