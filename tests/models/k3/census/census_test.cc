#include "models/k3/census/census.h"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "models/k3/synth/layout.h"
#include "models/k3/synth/synth.h"
#include "tests/io/safetensors/shard.h"
#include "tests/models/k3/config/tiny_checkpoint.h"

namespace penstock::k3 {
namespace {

using io::ExpectRefused;
using io::ScratchDirectory;

uint64_t BytesOf(const CensusCounts& counts, CensusKind kind) {
  return counts[static_cast<size_t>(kind)].bytes;
}

SynthOptions Release() {
  SynthOptions o;
  o.layers = 93;
  o.hidden = 7168;
  o.vocab = 163840;
  o.context = 1048576;
  o.kda_heads = o.mla_heads = 96;
  o.kda_width = o.nope = o.value = 128;
  o.rope = 64;
  o.q_rank = 1536;
  o.kv_rank = 512;
  o.dense_width = 33792;
  o.experts = 896;
  o.top_k = 16;
  o.latent = 3584;
  o.expert_width = 3072;
  o.residual_block = 12;
  return o;
}

// A safetensors file of the right size whose data occupies no blocks.
void WriteSparse(const std::string& path, const std::vector<SynthTensor>& tensors) {
  std::string json;
  uint64_t at = 0;
  for (const SynthTensor& tensor : tensors) {
    json += json.empty() ? '{' : ',';
    json += fmt::format(R"("{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", tensor.name,
                        io::DtypeName(tensor.dtype), fmt::join(tensor.dims, ","), at,
                        at + tensor.bytes());
    at += tensor.bytes();
  }
  const std::string header = io::ShardBytes(json + "}", "");
  std::ofstream(path, std::ios::binary) << header;
  ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(header.size() + at)), 0);
}

// Sums by hand for hidden 128, KDA 3 x 64, MLA 4 x (32 + 16, 32), ranks 64 and 48.
TEST(Census, CountsTheEmbeddedCheckpoint) {
  const auto census = TakeCensus(kTiny, {});
  ASSERT_TRUE(census) << census.error().message;
  EXPECT_TRUE(census->has_index);
  EXPECT_EQ(census->files.size(), 4u);
  EXPECT_EQ(census->total.tensors, 1770u);
  EXPECT_EQ(census->total.bytes, 7245216u);
  EXPECT_EQ(census->identity.size(), 32u);
  EXPECT_EQ(census->not_k3, "");
  ASSERT_TRUE(census->model);
  const CensusModel& model = *census->model;
  ASSERT_EQ(model.layers.size(), 9u);

  const uint64_t H = 128, P = 192, D = 64;
  const uint64_t kda = 2 * (5 * P * H + 3 * H + D * H + P * D) + 4 * (3 * P * 4 + 64 + P + D);
  const uint64_t mla =
      2 * (64 * H + 64 + 192 * 64 + (48 + 16) * H + 48 + 4 * 64 * 48 + 2 * 128 * H);
  EXPECT_EQ(BytesOf(model.layers[0].kinds, CensusKind::kAttention), kda);
  EXPECT_EQ(BytesOf(model.layers[8].kinds, CensusKind::kAttention), mla);
  EXPECT_EQ(BytesOf(model.layers[0].kinds, CensusKind::kDense), 3 * 256 * H * 2);
  EXPECT_EQ(BytesOf(model.layers[0].kinds, CensusKind::kExperts), 0u);
  EXPECT_EQ(BytesOf(model.layers[0].kinds, CensusKind::kVectors), 6 * H * 2);
  const uint64_t expert = 3 * 64 * 96 / 2 + 3 * 64 * 96 / 32;
  const uint64_t router = 2 * (32 * H + 96 * H + 96 + H * 96) + 4 * 32;
  const uint64_t shared = 2 * 3 * 128 * H;
  EXPECT_EQ(BytesOf(model.layers[5].kinds, CensusKind::kExperts), 32 * expert);
  EXPECT_EQ(BytesOf(model.layers[5].kinds, CensusKind::kRouter), router);
  EXPECT_EQ(BytesOf(model.layers[5].kinds, CensusKind::kShared), shared);
  EXPECT_TRUE(model.layers[6].kda && !model.layers[7].kda && !model.layers[8].kda);
  EXPECT_TRUE(!model.layers[0].moe && model.layers[1].moe);
  EXPECT_EQ(BytesOf(model.ends, CensusKind::kOther), 0u);

  EXPECT_EQ(model.step_trunk_bytes,
            6 * kda + 3 * mla + 9 * 6 * H * 2 + 3 * 256 * H * 2 + 8 * (router + shared));
  EXPECT_EQ(model.step_expert_bytes, 8 * 4 * expert);
  EXPECT_EQ(model.step_head_bytes, 2048 * H * 2 + 3 * H * 2);
  EXPECT_EQ(model.step_row_bytes, H * 2);
  EXPECT_NEAR(static_cast<double>(model.parameters), 7.07e6, 0.01e6);

  uint64_t all = 0;
  for (const CensusLayer& layer : model.layers) {
    for (const CensusCount& count : layer.kinds) all += count.bytes;
  }
  for (const CensusCount& count : model.ends) all += count.bytes;
  EXPECT_EQ(all, census->total.bytes);
  uint64_t tensors = 0;
  for (const CensusPattern& pattern : census->patterns) tensors += pattern.count.tensors;
  EXPECT_EQ(tensors, census->total.tensors);
}

// The release's shape as sparse files: real headers, no data. The sums are those of the published
// index (1,560,860,324,864 bytes) without its vision tower (447,358,976 bf16 values).
TEST(Census, AddsUpToTheRelease) {
  const ScratchDirectory scratch;
  const SynthOptions options = Release();
  const auto config = SynthConfig(options);
  ASSERT_TRUE(config) << config.error().message;
  scratch.Write("config.json", *config);
  const auto shape = ParseShape(*config, "config.json");
  ASSERT_TRUE(shape);
  const SynthLayout layout(*shape, "language_model.", true);
  for (size_t shard = 0; shard < layout.shards(); ++shard) {
    WriteSparse(scratch.File(layout.FileName(shard)), layout.Shard(shard));
  }
  const auto census = TakeCensus(scratch.path(), {});
  ASSERT_TRUE(census) << census.error().message;
  ASSERT_TRUE(census->model) << census->not_k3;
  EXPECT_EQ(census->total.bytes, 1'560'860'324'864u - 2 * 447'358'976u);
  EXPECT_EQ(census->model->step_trunk_bytes, 108'811'877'376u);
  EXPECT_EQ(census->model->step_head_bytes, 2'348'853'248u);
  EXPECT_EQ(census->model->step_expert_bytes, 25'829'572'608u);
  EXPECT_EQ(census->model->step_row_bytes, 14'336u);
}

TEST(Census, CountsADirectoryThatIsNoK3) {
  const ScratchDirectory scratch;
  scratch.Write("a.safetensors", io::ByteShard({"block.0.w", "block.1.w", "head"}));
  const auto census = TakeCensus(scratch.path(), {});
  ASSERT_TRUE(census) << census.error().message;
  EXPECT_FALSE(census->model);
  EXPECT_NE(census->not_k3.find("config.json"), std::string::npos);
  EXPECT_FALSE(census->has_index);
  ASSERT_EQ(census->patterns.size(), 2u);
  EXPECT_EQ(census->patterns[0].name, "block.*.w");
  EXPECT_EQ(census->patterns[0].count.tensors, 2u);
  EXPECT_EQ(census->patterns[0].count.bytes, 8u);
  EXPECT_EQ(census->patterns[0].shape, std::vector<uint64_t>{4});
  EXPECT_TRUE(CensusJson(*census).contains("not_k3"));
  EXPECT_NE(CensusTable(*census).find("block.*.w"), std::string::npos);
}

TEST(Census, SaysWhyACheckpointIsNoK3) {
  const ScratchDirectory scratch;
  SynthOptions options;
  options.out = scratch.File("s");
  ASSERT_TRUE(Synthesize(options, {}));
  ASSERT_TRUE(TakeCensus(options.out, {})->model);
  std::filesystem::copy_file(std::string(kTiny) + "/config.json", options.out + "/config.json",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_TRUE(TakeCensus(options.out, {})->model);
  SynthOptions other = options;
  other.out = scratch.File("t");
  other.hidden = 64;
  ASSERT_TRUE(Synthesize(other, {}));
  std::filesystem::copy_file(other.out + "/config.json", options.out + "/config.json",
                             std::filesystem::copy_options::overwrite_existing);
  const auto census = TakeCensus(options.out, {});
  ASSERT_TRUE(census);
  EXPECT_FALSE(census->model);
  EXPECT_NE(census->not_k3.find("expected BF16 [2048, 64]"), std::string::npos) << census->not_k3;
  EXPECT_EQ(census->total.tensors, 1770u);
}

TEST(Census, RefusesWhatIsNoCheckpoint) {
  const ScratchDirectory scratch;
  ExpectRefused(TakeCensus(scratch.path(), {}), {scratch.path()});
  scratch.Write("a.safetensors", "damaged");
  ExpectRefused(TakeCensus(scratch.path(), {}), {"a.safetensors"});
}

}  // namespace
}  // namespace penstock::k3
