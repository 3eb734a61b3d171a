#include "tests/models/k3/oracle/weights.h"

#include <fstream>
#include <utility>

#include <nlohmann/json.hpp>

namespace penstock::k3::oracle {
namespace {

using Json = nlohmann::json;

// Reads the layer list: it counts from one.
std::vector<bool> ReadKdaLayers(const Json& linear, size_t layers) {
  std::vector<bool> kda(layers, false);
  for (const auto& one_based : linear.at("kda_layers")) kda.at(one_based.get<size_t>() - 1) = true;
  return kda;
}

std::optional<double> ReadOptional(const Json& json, const char* key) {
  if (!json.contains(key) || json.at(key).is_null()) return std::nullopt;
  return json.at(key).get<double>();
}

Config ParseConfig(const Json& root) {
  const Json& text = root.contains("text_config") ? root.at("text_config") : root;
  const Json& linear = text.at("linear_attn_config");
  const auto size = [](const Json& json, const char* key) { return json.at(key).get<size_t>(); };
  Config c;
  c.layers = size(text, "num_hidden_layers");
  c.hidden = size(text, "hidden_size");
  c.vocab = size(text, "vocab_size");
  c.eps = text.at("rms_norm_eps").get<double>();
  c.kda_heads = size(linear, "num_heads");
  c.kda_width = size(linear, "head_dim");
  c.taps = size(linear, "short_conv_kernel_size");
  c.decay_bound = ReadOptional(linear, "gate_lower_bound");
  c.full_rank_gate = linear.at("use_full_rank_gate").get<bool>();
  c.heads = size(text, "num_attention_heads");
  c.q_rank = size(text, "q_lora_rank");
  c.kv_rank = size(text, "kv_lora_rank");
  c.nope = size(text, "qk_nope_head_dim");
  c.rope = size(text, "qk_rope_head_dim");
  c.value = size(text, "v_head_dim");
  c.dense_width = size(text, "intermediate_size");
  c.first_moe = size(text, "first_k_dense_replace");
  c.moe_freq = size(text, "moe_layer_freq");
  c.experts = size(text, "num_experts");
  c.top_k = size(text, "num_experts_per_token");
  c.shared = size(text, "num_shared_experts");
  c.latent = size(text, "routed_expert_hidden_size");
  c.expert_width = size(text, "moe_intermediate_size");
  c.groups = size(text, "num_expert_group");
  c.top_groups = size(text, "topk_group");
  c.renormalize = text.at("moe_renormalize").get<bool>();
  c.routed_scale = text.at("routed_scaling_factor").get<double>();
  c.residual_block = size(text, "attn_res_block_size");
  c.situ_beta = ReadOptional(text, "activation_situ_beta").value_or(1);
  c.situ_linear_beta = ReadOptional(text, "activation_situ_linear_beta");
  c.kda = ReadKdaLayers(linear, c.layers);
  return c;
}

// Takes tensors by name below one prefix; keeps the first error.
class Taker {
 public:
  Taker(Tensors* tensors, std::string prefix) : tensors_(tensors), prefix_(std::move(prefix)) {}

  Matrix Take(const std::string& name, size_t rows, size_t cols) {
    return Keep(tensors_->Take(prefix_ + name + ".weight", rows, cols));
  }
  Vector TakeVector(const std::string& name, size_t at_least) {
    return Keep(tensors_->TakeVector(prefix_ + name, at_least));
  }
  // norm.weight * proj.weight of one attention residual.
  Vector TakeMix(const std::string& name, size_t hidden) {
    Vector mix = TakeVector(name + "_norm.weight", hidden);
    const Vector proj = TakeVector(name + "_proj.weight", hidden);
    if (!error_.has_value()) {
      for (size_t i = 0; i < hidden; ++i) mix[i] *= proj[i];
    }
    return mix;
  }
  MlpWeights TakeMlp(const std::string& name, size_t width, size_t hidden) {
    return {Take(name + ".gate_proj", width, hidden), Take(name + ".up_proj", width, hidden),
            Take(name + ".down_proj", hidden, width)};
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  template <class T>
  T Keep(Result<T> result) {
    if (result) return std::move(result).value();
    if (!error_.has_value()) error_ = std::move(result).error();
    return {};
  }

  Tensors* tensors_;
  std::string prefix_;
  std::optional<Error> error_;
};

KdaWeights TakeKda(Taker& take, const Config& c) {
  const size_t total = c.kda_total();
  KdaWeights w;
  w.q = take.Take("self_attn.q_proj", total, c.hidden);
  w.k = take.Take("self_attn.k_proj", total, c.hidden);
  w.v = take.Take("self_attn.v_proj", total, c.hidden);
  if (c.full_rank_gate) {
    w.g = take.Take("self_attn.g_proj", total, c.hidden);
  } else {
    w.g_a = take.Take("self_attn.g_a_proj", c.kda_width, c.hidden);
    w.g = take.Take("self_attn.g_b_proj", total, c.kda_width);
  }
  w.o = take.Take("self_attn.o_proj", c.hidden, total);
  w.f_a = take.Take("self_attn.f_a_proj", c.kda_width, c.hidden);
  w.f_b = take.Take("self_attn.f_b_proj", total, c.kda_width);
  w.b = take.Take("self_attn.b_proj", c.kda_heads, c.hidden);
  w.conv_q = take.Take("self_attn.q_conv1d", total, c.taps);
  w.conv_k = take.Take("self_attn.k_conv1d", total, c.taps);
  w.conv_v = take.Take("self_attn.v_conv1d", total, c.taps);
  w.a_log = take.TakeVector("self_attn.A_log", c.kda_heads);
  w.dt_bias = take.TakeVector("self_attn.dt_bias", total);
  w.o_norm = take.TakeVector("self_attn.o_norm.weight", c.kda_width);
  return w;
}

MlaWeights TakeMla(Taker& take, const Config& c) {
  MlaWeights w;
  w.q_a = take.Take("self_attn.q_a_proj", c.q_rank, c.hidden);
  w.q_norm = take.TakeVector("self_attn.q_a_layernorm.weight", c.q_rank);
  w.q_b = take.Take("self_attn.q_b_proj", c.heads * (c.nope + c.rope), c.q_rank);
  w.kv_a = take.Take("self_attn.kv_a_proj_with_mqa", c.kv_rank + c.rope, c.hidden);
  w.kv_norm = take.TakeVector("self_attn.kv_a_layernorm.weight", c.kv_rank);
  w.kv_b = take.Take("self_attn.kv_b_proj", c.heads * (c.nope + c.value), c.kv_rank);
  w.g = take.Take("self_attn.g_proj", c.heads * c.value, c.hidden);
  w.o = take.Take("self_attn.o_proj", c.hidden, c.heads * c.value);
  return w;
}

MoeWeights TakeMoe(Taker& take, const Config& c) {
  const std::string moe = "block_sparse_moe.";
  MoeWeights w;
  w.router = take.Take(moe + "gate", c.experts, c.hidden);
  w.bias = take.TakeVector(moe + "gate.e_score_correction_bias", c.experts);
  w.latent_down = take.Take(moe + "routed_expert_down_proj", c.latent, c.hidden);
  w.latent_norm = take.TakeVector(moe + "routed_expert_norm.weight", c.latent);
  w.latent_up = take.Take(moe + "routed_expert_up_proj", c.hidden, c.latent);
  w.shared = take.TakeMlp(moe + "shared_experts", c.shared * c.expert_width, c.hidden);
  for (size_t e = 0; e < c.experts; ++e) {
    const std::string expert = moe + "experts." + std::to_string(e) + ".";
    w.experts.push_back({take.Take(expert + "w1", c.expert_width, c.latent),
                         take.Take(expert + "w3", c.expert_width, c.latent),
                         take.Take(expert + "w2", c.latent, c.expert_width)});
  }
  return w;
}

Result<LayerWeights> TakeLayer(Tensors* tensors, const Config& c, size_t layer) {
  Taker take(tensors, "model.layers." + std::to_string(layer) + ".");
  LayerWeights w;
  w.input_norm = take.TakeVector("input_layernorm.weight", c.hidden);
  w.post_norm = take.TakeVector("post_attention_layernorm.weight", c.hidden);
  w.attention_mix = take.TakeMix("self_attention_res", c.hidden);
  w.mlp_mix = take.TakeMix("mlp_res", c.hidden);
  if (c.kda[layer]) {
    w.kda = TakeKda(take, c);
  } else {
    w.mla = TakeMla(take, c);
  }
  if (c.IsMoe(layer)) {
    w.moe = TakeMoe(take, c);
  } else {
    w.dense = take.TakeMlp("mlp", c.dense_width, c.hidden);
  }
  if (take.error()) return *take.error();
  return w;
}

Result<Weights> LoadChecked(const std::string& directory) {
  std::ifstream file(directory + "/config.json");
  if (!file) return Refused("cannot open " + directory + "/config.json");
  Weights w;
  w.config = ParseConfig(Json::parse(file));
  const Config& c = w.config;
  PENSTOCK_TRY(Tensors tensors, Tensors::Load(directory, "language_model."));
  if (tensors.empty()) {  // The text model alone, without the wrapper of the release.
    PENSTOCK_TRY(tensors, Tensors::Load(directory, ""));
  }
  Taker take(&tensors, "");
  w.embed = take.Take("model.embed_tokens", c.vocab, c.hidden);
  w.head = take.Take("lm_head", c.vocab, c.hidden);
  w.final_norm = take.TakeVector("model.norm.weight", c.hidden);
  w.final_mix = take.TakeMix("model.output_attn_res", c.hidden);
  if (take.error()) return *take.error();
  for (size_t layer = 0; layer < c.layers; ++layer) {
    PENSTOCK_TRY(w.layers.emplace_back(), TakeLayer(&tensors, c, layer));
  }
  return w;
}

}  // namespace

Result<Weights> LoadWeights(const std::string& directory) {
  try {
    return LoadChecked(directory);
  } catch (const std::exception& error) {  // nlohmann-json reports by exceptions.
    return Refused(directory + ": " + error.what());
  }
}

}  // namespace penstock::k3::oracle
