#include <filesystem>
#include <fstream>
#include <random>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "io/safetensors/regular_file.h"
#include "models/k3/config/shape.h"
#include "tests/io/safetensors/shard.h"
#include "tests/models/k3/config/tiny_checkpoint.h"

namespace penstock::k3 {
namespace {

using io::ExpectRefused;

nlohmann::json TinyConfig() {
  return nlohmann::json::parse(std::ifstream(std::string(kTiny) + "/config.json"));
}

Result<Shape> Parse(const nlohmann::json& config) {
  return ParseShape(config.dump(), "config.json");
}

// The tiny config with one value of text_config replaced; a discarded value removes the key.
nlohmann::json With(const std::string& pointer, const nlohmann::json& value) {
  nlohmann::json config = TinyConfig();
  const nlohmann::json::json_pointer at("/text_config" + pointer);
  if (value.is_discarded()) {
    config[at.parent_pointer()].erase(at.back());
  } else {
    config[at] = value;
  }
  return config;
}

void ExpectKeyRefused(const std::string& pointer, const nlohmann::json& value) {
  const std::string key = pointer.substr(pointer.rfind('/') + 1);
  SCOPED_TRACE(pointer + " = " + (value.is_discarded() ? "removed" : value.dump()));
  ExpectRefused(Parse(With(pointer, value)), {"config.json", key, "expected", "got"});
}

const nlohmann::json kRemoved = nlohmann::json(nlohmann::json::value_t::discarded);

TEST(Config, ReadsTheEmbeddedCheckpoint) {
  const auto config = ReadConfig(kTiny);
  ASSERT_TRUE(config) << config.error().message;
  const Shape& s = config->shape;
  EXPECT_EQ(s.layers, 9u);
  EXPECT_EQ(s.hidden, 128u);
  EXPECT_EQ(s.vocab, 2048u);
  EXPECT_FLOAT_EQ(s.norm_eps, 1e-5f);
  EXPECT_EQ(s.kda_heads, 3u);
  EXPECT_EQ(s.kda_width, 64u);
  EXPECT_EQ(s.conv_taps, 4u);
  EXPECT_EQ(s.decay_bound, -5.0f);
  EXPECT_TRUE(s.full_rank_gate);
  EXPECT_EQ(s.mla_heads, 4u);
  EXPECT_EQ(s.q_rank, 64u);
  EXPECT_EQ(s.kv_rank, 48u);
  EXPECT_EQ(s.nope, 32u);
  EXPECT_EQ(s.rope, 16u);
  EXPECT_EQ(s.value, 32u);
  EXPECT_EQ(s.dense_width, 256u);
  EXPECT_EQ(s.first_moe, 1u);
  EXPECT_EQ(s.experts, 32u);
  EXPECT_EQ(s.top_k, 4u);
  EXPECT_EQ(s.shared_experts, 2u);
  EXPECT_EQ(s.latent, 96u);
  EXPECT_EQ(s.expert_width, 64u);
  EXPECT_EQ(s.residual_block, 4u);
  EXPECT_EQ(s.situ_beta, 4.0f);
  EXPECT_EQ(s.situ_linear_beta, 25.0f);
  EXPECT_EQ(s.max_context, 8192u);
  EXPECT_TRUE(s.renormalize);
  EXPECT_EQ(s.routed_scale, 1.0f);
  // The lists count from one: layers 4, 8 and 9 are indices 3, 7 and 8.
  EXPECT_EQ(s.kda, (std::vector<bool>{true, true, true, false, true, true, true, false, false}));
  EXPECT_EQ(config->eos, (std::vector<uint32_t>{1794}));
  EXPECT_EQ(nlohmann::json::parse(config->text_json), TinyConfig()["text_config"]);
}

TEST(Config, ReadsTheFlatForm) {
  const auto flat = Parse(TinyConfig()["text_config"]);
  ASSERT_TRUE(flat) << flat.error().message;
  EXPECT_EQ(flat->hidden, 128u);
  EXPECT_EQ(flat->kda_width, 64u);
  // text_config goes before keys of the wrapper with the same name.
  nlohmann::json both = TinyConfig();
  both["hidden_size"] = 7;
  EXPECT_EQ(Parse(both)->hidden, 128u);
  // ... and nothing it lacks is taken from there.
  both["text_config"].erase("hidden_size");
  ExpectRefused(Parse(both), {"config.json", "text_config.hidden_size", "got none"});
}

const std::vector<std::string> kCounts = {"/num_hidden_layers",
                                          "/hidden_size",
                                          "/vocab_size",
                                          "/attn_res_block_size",
                                          "/max_position_embeddings",
                                          "/intermediate_size",
                                          "/moe_layer_freq",
                                          "/num_attention_heads",
                                          "/num_key_value_heads",
                                          "/q_lora_rank",
                                          "/kv_lora_rank",
                                          "/qk_nope_head_dim",
                                          "/qk_rope_head_dim",
                                          "/v_head_dim",
                                          "/linear_attn_config/num_heads",
                                          "/linear_attn_config/head_dim",
                                          "/linear_attn_config/short_conv_kernel_size",
                                          "/num_experts",
                                          "/num_experts_per_token",
                                          "/num_shared_experts",
                                          "/routed_expert_hidden_size",
                                          "/moe_intermediate_size",
                                          "/num_expert_group",
                                          "/topk_group"};

TEST(Config, RefusesEachCountThatIsMissingOrImpossible) {
  for (const std::string& pointer : kCounts) {
    ExpectKeyRefused(pointer, kRemoved);
    ExpectKeyRefused(pointer, nullptr);
    ExpectKeyRefused(pointer, 0);
    ExpectKeyRefused(pointer, -1);
    ExpectKeyRefused(pointer, 1.5);
    ExpectKeyRefused(pointer, "4");
    ExpectKeyRefused(pointer, true);
    ExpectKeyRefused(pointer, nlohmann::json::array({4}));
    ExpectKeyRefused(pointer, UINT64_MAX);
    ExpectKeyRefused(pointer, uint64_t{1} << 32);
  }
  ExpectKeyRefused("/first_k_dense_replace", kRemoved);
  ExpectKeyRefused("/first_k_dense_replace", 10);
  ExpectKeyRefused("/first_k_dense_replace", -1);
}

TEST(Config, RefusesEachNumberThatIsMissingOrImpossible) {
  for (const std::string pointer : {"/rms_norm_eps", "/activation_situ_beta",
                                    "/activation_situ_linear_beta", "/routed_scaling_factor"}) {
    ExpectKeyRefused(pointer, kRemoved);
    ExpectKeyRefused(pointer, 0);
    ExpectKeyRefused(pointer, -4.0);
    ExpectKeyRefused(pointer, 1e300);
    ExpectKeyRefused(pointer, "1");
  }
  ExpectKeyRefused("/rms_norm_eps", 1.0);
  ExpectKeyRefused("/rms_norm_eps", nullptr);
  ExpectKeyRefused("/linear_attn_config/gate_lower_bound", 0);
  ExpectKeyRefused("/linear_attn_config/gate_lower_bound", 5.0);
  ExpectKeyRefused("/linear_attn_config/gate_lower_bound", "-5");
}

TEST(Config, AbsentIsAMeaningForThreeKeysOnly) {
  EXPECT_EQ(Parse(With("/linear_attn_config/gate_lower_bound", kRemoved))->decay_bound, 0.0f);
  EXPECT_EQ(Parse(With("/linear_attn_config/gate_lower_bound", nullptr))->decay_bound, 0.0f);
  EXPECT_EQ(Parse(With("/activation_situ_beta", nullptr))->situ_beta, 1.0f);
  EXPECT_EQ(Parse(With("/activation_situ_linear_beta", nullptr))->situ_linear_beta, 0.0f);
}

TEST(Config, RefusesWhatItCannotCompute) {
  const std::vector<std::pair<std::string, nlohmann::json>> flags = {
      {"/hidden_act", "silu"},         {"/mla_use_nope", false},
      {"/mla_use_output_gate", false}, {"/latent_moe_use_norm", false},
      {"/topk_method", "greedy"},      {"/moe_router_activation_func", "softmax"},
      {"/tie_word_embeddings", true},  {"/linear_attn_config/use_full_rank_gate", 1},
      {"/moe_renormalize", "yes"},     {"/use_grouped_topk", 0}};
  for (const auto& [pointer, value] : flags) {
    ExpectKeyRefused(pointer, value);
    if (pointer != "/tie_word_embeddings") ExpectKeyRefused(pointer, kRemoved);
  }
  nlohmann::json config = TinyConfig();
  config["tie_word_embeddings"] = true;
  ExpectRefused(Parse(config), {"config.json", "tie_word_embeddings"});
  config = TinyConfig();
  config.erase("tie_word_embeddings");
  EXPECT_TRUE(Parse(config));
  config["text_config"].erase("tie_word_embeddings");
  ExpectRefused(Parse(config), {"config.json", "tie_word_embeddings", "got none"});
  ExpectKeyRefused("/attention_bias", true);
}

TEST(Config, RefusesAnUnknownQuantisation) {
  const std::string q = "/quantization_config";
  const std::string w = q + "/config_groups/group_0/weights";
  ExpectKeyRefused(q, kRemoved);
  ExpectKeyRefused(q, nullptr);
  ExpectKeyRefused(q, "mxfp4");
  for (const std::string& key : {q + "/quant_method", q + "/format", w + "/num_bits", w + "/type",
                                 w + "/group_size", w + "/strategy", w + "/symmetric"}) {
    ExpectKeyRefused(key, kRemoved);
    ExpectKeyRefused(key, "other");
    ExpectKeyRefused(key, nullptr);
  }
  ExpectKeyRefused(w + "/num_bits", 8);
  ExpectKeyRefused(w + "/group_size", 16);
  ExpectKeyRefused(w + "/type", "int");
  ExpectKeyRefused(w + "/symmetric", false);
  ExpectKeyRefused(w + "/dynamic", true);
  ExpectKeyRefused(w + "/scale_dtype", "torch.float8_e4m3fn");
  ExpectKeyRefused(w, kRemoved);
  ExpectKeyRefused(q + "/config_groups", nlohmann::json::object());
  ExpectKeyRefused(q + "/config_groups", kRemoved);
  ExpectKeyRefused(q + "/config_groups/group_0/format", "pack-quantized");
  ExpectKeyRefused(q + "/config_groups/group_0/input_activations", nlohmann::json::object());
  ExpectKeyRefused(q + "/kv_cache_scheme", nlohmann::json::object());
  ExpectKeyRefused(q + "/quantization_status", "frozen");
  nlohmann::json second = TinyConfig();
  nlohmann::json& groups = second["text_config"]["quantization_config"]["config_groups"];
  groups["group_1"] = groups["group_0"];
  EXPECT_TRUE(Parse(second));
  groups["group_1"]["weights"]["num_bits"] = 8;
  ExpectRefused(Parse(second), {"config.json", "group_1.weights.num_bits", "expected 4", "got 8"});
}

TEST(Config, LayerListsCountFromOneAndCoverEveryLayerOnce) {
  const std::string kda = "/linear_attn_config/kda_layers";
  const std::string mla = "/linear_attn_config/full_attn_layers";
  ExpectKeyRefused(kda, kRemoved);
  ExpectKeyRefused(mla, kRemoved);
  ExpectKeyRefused(kda, 7);
  ExpectKeyRefused(mla, {4, 8, 10});
  ExpectKeyRefused(mla, {0, 4, 8, 9});
  ExpectKeyRefused(mla, {4, 8, -9});
  ExpectKeyRefused(mla, {4, 8, 9.0});
  ExpectKeyRefused(mla, {4, 8, 8, 9});
  ExpectKeyRefused(mla, {3, 4, 8, 9});
  // Zero-based lists.
  nlohmann::json zero = TinyConfig();
  zero["text_config"]["linear_attn_config"]["kda_layers"] = {0, 1, 2, 4, 5, 6};
  zero["text_config"]["linear_attn_config"]["full_attn_layers"] = {3, 7, 8};
  ExpectRefused(Parse(zero), {"config.json", "kda_layers", "from 1 to 9"});
  // A layer in neither list.
  nlohmann::json hole = TinyConfig();
  hole["text_config"]["linear_attn_config"]["full_attn_layers"] = {4, 8};
  ExpectRefused(Parse(hole), {"config.json", "layer 9"});
  // The order within a list does not matter; a list may be empty.
  nlohmann::json all = TinyConfig();
  all["text_config"]["linear_attn_config"]["full_attn_layers"] = nlohmann::json::array();
  all["text_config"]["linear_attn_config"]["kda_layers"] = {9, 8, 7, 6, 5, 4, 3, 2, 1};
  EXPECT_EQ(Parse(all)->kda, std::vector<bool>(9, true));
}

TEST(Config, RefusesProductsThatAreTooLarge) {
  ExpectKeyRefused("/linear_attn_config/num_heads", 65536 * 8);
  nlohmann::json kda = TinyConfig();
  kda["text_config"]["linear_attn_config"]["num_heads"] = 65536;
  kda["text_config"]["linear_attn_config"]["head_dim"] = 65536;
  ExpectRefused(Parse(kda), {"config.json", "num_heads"});
  nlohmann::json mla = TinyConfig();
  mla["text_config"]["num_attention_heads"] = 65536;
  mla["text_config"]["num_key_value_heads"] = 65536;
  mla["text_config"]["qk_nope_head_dim"] = 65536;
  ExpectRefused(Parse(mla), {"config.json", "num_attention_heads"});
  nlohmann::json shared = TinyConfig();
  shared["text_config"]["num_shared_experts"] = 65536;
  shared["text_config"]["moe_intermediate_size"] = 65536;
  ExpectRefused(Parse(shared), {"config.json", "num_shared_experts"});
}

TEST(Config, RefusesWidthsThatMxfp4CannotGroup) {
  for (const int width : {1, 31, 33, 48, 100}) {
    ExpectKeyRefused("/routed_expert_hidden_size", width);
    ExpectKeyRefused("/moe_intermediate_size", width);
  }
  EXPECT_TRUE(Parse(With("/routed_expert_hidden_size", 32)));
  EXPECT_TRUE(Parse(With("/moe_intermediate_size", 160)));
}

TEST(Config, RefusesGroupsThatCannotWork) {
  ExpectKeyRefused("/num_experts_per_token", 33);
  ExpectKeyRefused("/num_expert_group", 5);
  ExpectKeyRefused("/topk_group", 2);
  nlohmann::json groups = TinyConfig();
  groups["text_config"]["num_expert_group"] = 16;
  groups["text_config"]["topk_group"] = 1;
  ExpectRefused(Parse(groups), {"config.json", "num_experts_per_token"});
  groups["text_config"]["topk_group"] = 2;
  EXPECT_TRUE(Parse(groups));
  groups["text_config"]["use_grouped_topk"] = false;
  ExpectRefused(Parse(groups), {"config.json", "use_grouped_topk"});
}

TEST(Config, RefusesWhatIsNoConfig) {
  for (const std::string text : {"", "[]", "7", "{", "{} {}", "{\"a\":\xff}", "{\"a\": 1e999}",
                                 "{\"text_config\": 7}", "{\"text_config\": null}"}) {
    SCOPED_TRACE(text);
    ExpectRefused(ParseShape(text, "config.json"), {"config.json"});
  }
  ExpectRefused(ParseShape(std::string(100000, '['), "config.json"), {"config.json"});
  ExpectRefused(ParseShape(R"({"text_config":{"a":1,"hidden_size":1,"hidden_size":2}})", "c.json"),
                {"c.json", "'hidden_size'", "twice"});
  ExpectRefused(ParseShape(R"({"text_config":{},"text\u005fconfig":{}})", "c.json"),
                {"c.json", "'text_config'", "twice"});
}

class ConfigDirectory : public ::testing::Test {
 protected:
  Result<Config> Read(const nlohmann::json& config, const std::string& generation) {
    scratch_.Write("config.json", config.dump());
    std::filesystem::remove(scratch_.File("generation_config.json"));
    if (!generation.empty()) scratch_.Write("generation_config.json", generation);
    return ReadConfig(scratch_.path());
  }
  io::ScratchDirectory scratch_;
};

TEST_F(ConfigDirectory, TakesTheEndFromTheGenerationConfigFirst) {
  using Ids = std::vector<uint32_t>;
  nlohmann::json config = TinyConfig();
  config["text_config"]["eos_token_id"] = 5;
  config["eos_token_id"] = {6, 7};
  EXPECT_EQ(Read(config, R"({"eos_token_id": 3})")->eos, (Ids{3}));
  EXPECT_EQ(Read(config, R"({"eos_token_id": [3, 4]})")->eos, (Ids{3, 4}));
  EXPECT_EQ(Read(config, "{}")->eos, (Ids{5}));
  EXPECT_EQ(Read(config, R"({"eos_token_id": null})")->eos, (Ids{5}));
  EXPECT_EQ(Read(config, "")->eos, (Ids{5}));
  config["text_config"].erase("eos_token_id");
  EXPECT_EQ(Read(config, "")->eos, (Ids{6, 7}));
  config.erase("eos_token_id");
  ExpectRefused(Read(config, ""), {"config.json", "eos_token_id", "got none"});
}

TEST_F(ConfigDirectory, RefusesAnEndThatIsNoToken) {
  for (const std::string bad : {"-1", "2048", "\"x\"", "1.5", "[]", "[1, 2048]", "[[1]]", "{}"}) {
    SCOPED_TRACE(bad);
    ExpectRefused(Read(TinyConfig(), "{\"eos_token_id\": " + bad + "}"),
                  {"generation_config.json", "eos_token_id"});
  }
  ExpectRefused(Read(TinyConfig(), "{"), {"generation_config.json"});
}

TEST_F(ConfigDirectory, RefusesADirectoryWithoutConfig) {
  ExpectRefused(ReadConfig(scratch_.path()), {"config.json", "No such file"});
}

// Damage at random places: whatever comes back, it is a shape within the limits or a refusal.
TEST(Config, SurvivesMutations) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::string good = TinyConfig().dump();
  for (int round = 0; round < 3000; ++round) {
    std::string text = good;
    for (int edits = 1 + static_cast<int>(random() % 3); edits > 0; --edits) {
      const size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = "{}[]\",:0189\\ux\xff"[random() % 16];
          break;
        case 1:
          text.erase(at, 1 + random() % 8);
          break;
        default:
          text.insert(at, good.substr(random() % good.size(), random() % 20));
          break;
      }
    }
    const auto shape = ParseShape(text, "config.json");
    if (shape) {
      EXPECT_EQ(shape->kda.size(), shape->layers);
      EXPECT_LE(shape->kda_total(), size_t{1} << 24);
    }
  }
}

TEST(Config, ReadsTheCorpus) {
  size_t files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(PENSTOCK_SOURCE_DIR "/tests/fuzz/corpus/config")) {
    const auto text = io::ReadWholeFile(entry.path(), 1 << 20);
    ASSERT_TRUE(text);
    (void)ParseShape(*text, entry.path());
    ++files;
  }
  EXPECT_GE(files, 3u);
}

}  // namespace
}  // namespace penstock::k3
