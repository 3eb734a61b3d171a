#include "models/k3/weights/catalogue.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "io/safetensors/index.h"
#include "io/safetensors/regular_file.h"
#include "tests/io/safetensors/shard.h"
#include "tests/models/k3/config/tiny_checkpoint.h"
#include "tests/runtime/serial_step.h"

namespace penstock::k3 {
namespace {

using io::ExpectRefused;

const std::string kLayers = "language_model.model.layers.";

// The embedded checkpoint as one file without an index, in which a test changes headers and bytes.
class CatalogueTest : public ::testing::Test {
 protected:
  struct Tensor {
    std::string dtype;
    std::vector<uint64_t> shape;
    std::string bytes;
  };

  void SetUp() override {
    const auto config = ReadConfig(kTiny);
    ASSERT_TRUE(config);
    shape_ = config->shape;
    const auto checkpoint = io::Checkpoint::Open(kTiny, {});
    ASSERT_TRUE(checkpoint);
    for (size_t i = 0; i < (*checkpoint)->size(); ++i) {
      const io::TensorInfo info = (*checkpoint)->tensor(i);
      const auto file = io::RegularFile::Open((*checkpoint)->files()[info.extent.file]);
      ASSERT_TRUE(file);
      Tensor& tensor = tensors_[info.name()];
      tensor = {std::string(io::DtypeName(info.dtype)),
                {info.shape.begin(), info.shape.end()},
                std::string(info.extent.bytes, '\0')};
      ASSERT_TRUE(file->ReadAt(info.extent.offset, tensor.bytes));
    }
  }

  Result<Catalogue> Build() {
    nlohmann::json header = nlohmann::json::object();
    std::string data;
    for (const auto& [name, tensor] : tensors_) {
      header[name] = {{"dtype", tensor.dtype},
                      {"shape", tensor.shape},
                      {"data_offsets", {data.size(), data.size() + tensor.bytes.size()}}};
      data += tensor.bytes;
    }
    scratch_.Write("model.safetensors", io::ShardBytes(header.dump(), data));
    const auto checkpoint = io::Checkpoint::Open(scratch_.path(), {});
    if (!checkpoint) return checkpoint.error();
    return Catalogue::Build(**checkpoint, shape_);
  }

  // Reads what an extent of the catalogue points at.
  static std::string Bytes(const Catalogue& catalogue, const io::Extent& extent) {
    std::string bytes(extent.bytes, '\0');
    const auto file = io::RegularFile::Open(catalogue.FileName(extent.file));
    EXPECT_TRUE(file && file->ReadAt(extent.offset, bytes));
    return bytes;
  }

  std::map<std::string, Tensor> tensors_;
  Shape shape_;
  io::ScratchDirectory scratch_;
};

TEST_F(CatalogueTest, PointsAtTheBytesOfEachTensor) {
  const auto checkpoint = io::Checkpoint::Open(kTiny, {});
  ASSERT_TRUE(checkpoint);
  const auto catalogue = Catalogue::Build(**checkpoint, shape_);
  ASSERT_TRUE(catalogue) << catalogue.error().message;
  const Catalogue& c = *catalogue;
  ASSERT_EQ(c.layers(), 9u);
  EXPECT_EQ(c.files().size(), 4u);
  const auto expect = [&](const std::string& name, const io::Extent& extent) {
    EXPECT_EQ(Bytes(c, extent), tensors_.at(name).bytes) << name;
  };
  expect("language_model.lm_head.weight", c.head.extent);
  expect("language_model.model.embed_tokens.weight", c.embed.extent);
  expect("language_model.model.norm.weight", c.norm.extent);
  expect("language_model.model.output_attn_res_norm.weight", c.out_res_norm.extent);
  expect("language_model.model.output_attn_res_proj.weight", c.out_res_proj.extent);
  EXPECT_EQ(c.embed.rows, 2048u);
  EXPECT_EQ(c.embed.cols, 128u);

  const LayerTensors& first = c.layer(0);
  ASSERT_TRUE(first.kda && first.dense && !first.mla && !first.moe);
  expect(kLayers + "0.input_layernorm.weight", first.input_norm.extent);
  expect(kLayers + "0.post_attention_layernorm.weight", first.post_norm.extent);
  expect(kLayers + "0.self_attention_res_norm.weight", first.attn_res_norm.extent);
  expect(kLayers + "0.self_attention_res_proj.weight", first.attn_res_proj.extent);
  expect(kLayers + "0.mlp_res_norm.weight", first.mlp_res_norm.extent);
  expect(kLayers + "0.mlp_res_proj.weight", first.mlp_res_proj.extent);
  expect(kLayers + "0.mlp.gate_proj.weight", first.dense->gate.extent);
  expect(kLayers + "0.mlp.up_proj.weight", first.dense->up.extent);
  expect(kLayers + "0.mlp.down_proj.weight", first.dense->down.extent);
  expect(kLayers + "0.self_attn.q_proj.weight", first.kda->q.extent);
  expect(kLayers + "0.self_attn.k_proj.weight", first.kda->k.extent);
  expect(kLayers + "0.self_attn.v_proj.weight", first.kda->v.extent);
  expect(kLayers + "0.self_attn.g_proj.weight", first.kda->g.extent);
  expect(kLayers + "0.self_attn.o_proj.weight", first.kda->o.extent);
  expect(kLayers + "0.self_attn.f_a_proj.weight", first.kda->f_a.extent);
  expect(kLayers + "0.self_attn.f_b_proj.weight", first.kda->f_b.extent);
  expect(kLayers + "0.self_attn.b_proj.weight", first.kda->b.extent);
  expect(kLayers + "0.self_attn.q_conv1d.weight", first.kda->q_conv.extent);
  expect(kLayers + "0.self_attn.k_conv1d.weight", first.kda->k_conv.extent);
  expect(kLayers + "0.self_attn.v_conv1d.weight", first.kda->v_conv.extent);
  expect(kLayers + "0.self_attn.dt_bias", first.kda->dt_bias.extent);
  expect(kLayers + "0.self_attn.o_norm.weight", first.kda->o_norm.extent);
  EXPECT_EQ(first.kda->q_conv.size, 192u * 4);
  EXPECT_EQ(first.kda->g_a.rows, 0u);
  // Three heads of the 64 stored values.
  EXPECT_EQ(first.kda->a_log.size, 3u);
  EXPECT_EQ(Bytes(c, first.kda->a_log.extent),
            tensors_.at(kLayers + "0.self_attn.A_log").bytes.substr(0, 12));
}

TEST_F(CatalogueTest, PointsAtTheBytesOfMlaAndExperts) {
  const auto checkpoint = io::Checkpoint::Open(kTiny, {});
  const auto catalogue = Catalogue::Build(**checkpoint, shape_);
  ASSERT_TRUE(catalogue) << catalogue.error().message;
  const Catalogue& c = *catalogue;
  const auto expect = [&](const std::string& name, const io::Extent& extent) {
    EXPECT_EQ(Bytes(c, extent), tensors_.at(kLayers + name).bytes) << name;
  };
  const LayerTensors& layer = c.layer(8);  // The last two layers are both MLA.
  ASSERT_TRUE(layer.mla && layer.moe && !layer.kda && !layer.dense);
  ASSERT_TRUE(c.layer(7).mla && c.layer(3).mla && c.layer(6).kda);
  expect("8.self_attn.q_a_proj.weight", layer.mla->q_a.extent);
  expect("8.self_attn.q_b_proj.weight", layer.mla->q_b.extent);
  expect("8.self_attn.kv_a_proj_with_mqa.weight", layer.mla->kv_a.extent);
  expect("8.self_attn.kv_b_proj.weight", layer.mla->kv_b.extent);
  expect("8.self_attn.g_proj.weight", layer.mla->g.extent);
  expect("8.self_attn.o_proj.weight", layer.mla->o.extent);
  expect("8.self_attn.q_a_layernorm.weight", layer.mla->q_a_norm.extent);
  expect("8.self_attn.kv_a_layernorm.weight", layer.mla->kv_a_norm.extent);
  const std::string moe = "8.block_sparse_moe.";
  expect(moe + "gate.weight", layer.moe->router.extent);
  expect(moe + "gate.e_score_correction_bias", layer.moe->bias.extent);
  expect(moe + "routed_expert_down_proj.weight", layer.moe->latent_down.extent);
  expect(moe + "routed_expert_up_proj.weight", layer.moe->latent_up.extent);
  expect(moe + "routed_expert_norm.weight", layer.moe->latent_norm.extent);
  expect(moe + "shared_experts.gate_proj.weight", layer.moe->shared.gate.extent);
  expect(moe + "shared_experts.up_proj.weight", layer.moe->shared.up.extent);
  expect(moe + "shared_experts.down_proj.weight", layer.moe->shared.down.extent);
  for (const auto& [l, e] : {std::pair{1, 0}, {1, 9}, {1, 10}, {8, 31}, {5, 2}}) {
    const ExpertTensors expert = c.expert(l, e);
    const std::string base = std::to_string(l) + ".block_sparse_moe.experts." + std::to_string(e);
    expect(base + ".w1.weight_packed", expert.w1_packed);
    expect(base + ".w1.weight_scale", expert.w1_scale);
    expect(base + ".w2.weight_packed", expert.w2_packed);
    expect(base + ".w2.weight_scale", expert.w2_scale);
    expect(base + ".w3.weight_packed", expert.w3_packed);
    expect(base + ".w3.weight_scale", expert.w3_scale);
  }
}

TEST_F(CatalogueTest, ReadsNamesWithoutThePrefixOfTheWrapper) {
  std::map<std::string, Tensor> bare;
  for (auto& [name, tensor] : tensors_) {
    bare[name.substr(std::string("language_model.").size())] = tensor;
  }
  const std::map<std::string, Tensor> wrapped = std::exchange(tensors_, bare);
  EXPECT_TRUE(Build());
  // Both at once would leave the choice open.
  tensors_.insert(wrapped.begin(), wrapped.end());
  ExpectRefused(Build(), {scratch_.path(), "embed_tokens"});
}

TEST_F(CatalogueTest, IgnoresOtherTensors) {
  tensors_["vision_tower.patch.weight"] = {"BF16", {1, 1}, "ab"};
  tensors_[kLayers + "9.draft.weight"] = {"U8", {2}, "ab"};
  EXPECT_TRUE(Build());
}

// Every tensor of one KDA layer, one MLA layer, the dense layer and the ends, one at a time.
TEST_F(CatalogueTest, RefusesEachTensorThatIsMissing) {
  size_t tried = 0;
  for (const std::string& name : [&] {
         std::vector<std::string> names;
         for (const auto& [key, tensor] : tensors_) names.push_back(key);
         return names;
       }()) {
    const bool expert = name.find(".experts.") != std::string::npos;
    if (expert && name.find("layers.3.block_sparse_moe.experts.31.") == std::string::npos) continue;
    if (!expert && name.find("layers.") != std::string::npos &&
        name.find("layers.0.") == std::string::npos &&
        name.find("layers.3.") == std::string::npos) {
      continue;
    }
    if (tried++ % kSerialStep != 0) continue;
    const auto node = tensors_.extract(name);
    ExpectRefused(Build(), {scratch_.path(), "'" + name + "'", "got none"});
    tensors_[name] = node.mapped();
  }
  EXPECT_EQ(tried, 5u + 23 + 22 + 6);
}

TEST_F(CatalogueTest, RefusesAWrongDtype) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"0.self_attn.q_proj.weight", "F16"},
      {"0.input_layernorm.weight", "F16"},
      {"0.self_attn.A_log", "I32"},
      {"0.self_attn.dt_bias", "U32"},
      {"0.self_attn.q_conv1d.weight", "I32"},
      {"3.block_sparse_moe.gate.weight", "U16"},
      {"3.block_sparse_moe.gate.e_score_correction_bias", "I32"},
      {"3.block_sparse_moe.experts.7.w2.weight_packed", "I8"},
      {"3.block_sparse_moe.experts.7.w2.weight_scale", "F8_E8M0"}};
  for (const auto& [name, dtype] : wrong) {
    const std::string before = std::exchange(tensors_.at(kLayers + name).dtype, dtype);
    ExpectRefused(Build(), {"model.safetensors", "'" + kLayers + name + "'", before, dtype});
    tensors_.at(kLayers + name).dtype = before;
  }
}

TEST_F(CatalogueTest, RefusesAWrongShape) {
  const std::vector<std::pair<std::string, std::vector<uint64_t>>> wrong = {
      {"0.self_attn.q_proj.weight", {128, 192}},  // Transposed.
      {"0.self_attn.q_proj.weight", {192 * 128}},
      {"0.self_attn.q_conv1d.weight", {192, 4}},
      {"0.self_attn.A_log", {64, 1}},
      {"0.mlp_res_proj.weight", {128}},
      {"3.self_attn.kv_a_proj_with_mqa.weight", {128, 64}},
      {"3.block_sparse_moe.experts.7.w2.weight_packed", {32, 96}},
      {"3.block_sparse_moe.experts.7.w1.weight_scale", {3, 64}}};
  for (const auto& [name, shape] : wrong) {
    const auto before = std::exchange(tensors_.at(kLayers + name).shape, shape);
    ExpectRefused(Build(), {"model.safetensors", "'" + kLayers + name + "'", "expected", "got"});
    tensors_.at(kLayers + name).shape = before;
  }
  shape_.experts = 33;  // The config claims more than there is.
  ExpectRefused(Build(), {"gate.weight", "33", "32"});
}

TEST_F(CatalogueTest, AcceptsAnyALogWithAValuePerHead) {
  Tensor& a_log = tensors_.at(kLayers + "0.self_attn.A_log");
  a_log.shape = {3};
  a_log.bytes.resize(12);
  EXPECT_TRUE(Build());
  a_log.shape = {2};
  a_log.bytes.resize(8);
  ExpectRefused(Build(), {"model.safetensors", "A_log'", "at least 3", "[2]"});
}

TEST_F(CatalogueTest, TakesTheLowRankGateWhenTheConfigSaysSo) {
  shape_.full_rank_gate = false;
  ExpectRefused(Build(), {"g_a_proj"});
  for (const int layer : {0, 1, 2, 4, 5, 6}) {
    const std::string base = kLayers + std::to_string(layer) + ".self_attn.";
    tensors_[base + "g_a_proj.weight"] = {"BF16", {64, 128}, std::string(2 * 64 * 128, 'a')};
    tensors_[base + "g_b_proj.weight"] = {"BF16", {192, 64}, std::string(2 * 192 * 64, 'b')};
  }
  const auto catalogue = Build();
  ASSERT_TRUE(catalogue) << catalogue.error().message;
  EXPECT_EQ(catalogue->layer(0).kda->g.rows, 0u);
  EXPECT_EQ(catalogue->layer(0).kda->g_a.rows, 64u);
  EXPECT_EQ(catalogue->layer(0).kda->g_b.cols, 64u);
}

// The tensors end long before the layers that the config claims.
TEST_F(CatalogueTest, RefusesAClaimOfMoreLayers) {
  shape_.layers = 10000;
  shape_.kda.assign(10000, true);
  ExpectRefused(Build(), {"got"});
}

}  // namespace
}  // namespace penstock::k3
