#include <charconv>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/k3/synth/synth.h"

namespace penstock::k3 {
namespace {

using Json = nlohmann::ordered_json;

// Special tokens follow the ranks, at the offsets of the release; a vocabulary too small for them
// ends with its last id.
constexpr uint64_t kSpecials = 256;
constexpr uint64_t kEndOfMessage = 2;

struct Lists {
  std::vector<uint64_t> kda;
  std::vector<uint64_t> mla;
};

Result<Lists> LayerLists(const SynthOptions& options) {
  std::vector<bool> mla(options.layers);
  if (options.mla_layers.empty()) {
    for (uint64_t layer = 0; layer < options.layers; ++layer) {
      mla[layer] = layer % 4 == 3 || layer + 1 == options.layers;
    }
  }
  const char* at = options.mla_layers.data();
  const char* const end = at + options.mla_layers.size();
  while (at < end) {
    uint64_t layer = 0;
    const auto [next, error] = std::from_chars(at, end, layer);
    const bool comma = next < end && *next == ',' && next + 1 < end;
    if (error != std::errc() || layer < 1 || layer > options.layers || mla[layer - 1] ||
        (next < end && !comma)) {
      return Refused(
          fmt::format("mla-layers: expected different layers from 1 to {} between commas, got '{}'",
                      options.layers, options.mla_layers));
    }
    mla[layer - 1] = true;
    at = comma ? next + 1 : next;
  }
  Lists lists;
  for (uint64_t layer = 0; layer < options.layers; ++layer) {
    (mla[layer] ? lists.mla : lists.kda).push_back(layer + 1);
  }
  return lists;
}

Json Quantisation() {
  const Json weights = {{"actorder", nullptr},
                        {"block_structure", nullptr},
                        {"dynamic", false},
                        {"group_size", 32},
                        {"num_bits", 4},
                        {"observer", "minmax"},
                        {"observer_kwargs", Json::object()},
                        {"scale_dtype", "torch.uint8"},
                        {"strategy", "group"},
                        {"symmetric", true},
                        {"type", "float"},
                        {"zp_dtype", nullptr}};
  const Json group = {{"format", "mxfp4-pack-quantized"},
                      {"input_activations", nullptr},
                      {"output_activations", nullptr},
                      {"targets", {"Linear"}},
                      {"weights", weights}};
  return {{"config_groups", {{"group_0", group}}},
          {"format", "mxfp4-pack-quantized"},
          {"global_compression_ratio", nullptr},
          {"ignore",
           {"re:.*self_attn.*", "re:.*shared_experts.*", "re:.*mlp\\.(gate|up|gate_up|down)_proj.*",
            "re:.*lm_head.*"}},
          {"kv_cache_scheme", nullptr},
          {"quant_method", "compressed-tensors"},
          {"quantization_status", "compressed"}};
}

Json LinearAttention(const SynthOptions& o, const Lists& lists) {
  Json out = {{"full_attn_layers", lists.mla}};
  if (o.decay_bound != 0) out["gate_lower_bound"] = o.decay_bound;
  out["head_dim"] = o.kda_width;
  out["kda_layers"] = lists.kda;
  out["num_heads"] = o.kda_heads;
  out["short_conv_kernel_size"] = o.taps;
  out["use_full_rank_gate"] = o.full_rank_gate;
  return out;
}

struct Tokens {
  uint64_t bos, eos, pad;
  explicit Tokens(uint64_t vocab) {
    const bool room = vocab > kSpecials;
    bos = room ? vocab - kSpecials : 0;
    eos = room ? bos + kEndOfMessage : vocab - 1;
    pad = vocab - 1;
  }
};

Json TextConfig(const SynthOptions& o, const Lists& lists) {
  const Tokens tokens(o.vocab);
  return {{"activation_situ_beta", 4.0},
          {"activation_situ_linear_beta", 25.0},
          {"architectures", {"KimiLinearForCausalLM"}},
          {"attn_res_block_size", o.residual_block},
          {"bos_token_id", tokens.bos},
          {"dtype", "bfloat16"},
          {"eos_token_id", tokens.eos},
          {"first_k_dense_replace", o.first_dense},
          {"hidden_act", "situ"},
          {"hidden_size", o.hidden},
          {"initializer_range", 0.02},
          {"intermediate_size", o.dense_width},
          {"kv_lora_rank", o.kv_rank},
          {"latent_moe_use_norm", true},
          {"linear_attn_config", LinearAttention(o, lists)},
          {"max_position_embeddings", o.context},
          {"mla_use_nope", true},
          {"mla_use_output_gate", true},
          {"model_type", "kimi_linear"},
          {"moe_intermediate_size", o.expert_width},
          {"moe_layer_freq", 1},
          {"moe_renormalize", true},
          {"moe_router_activation_func", "sigmoid"},
          {"num_attention_heads", o.mla_heads},
          {"num_expert_group", o.groups},
          {"num_experts", o.experts},
          {"num_experts_per_token", o.top_k},
          {"num_hidden_layers", o.layers},
          {"num_key_value_heads", o.mla_heads},
          {"num_nextn_predict_layers", 0},
          {"num_shared_experts", o.shared},
          {"pad_token_id", tokens.pad},
          {"q_lora_rank", o.q_rank},
          {"qk_nope_head_dim", o.nope},
          {"qk_rope_head_dim", o.rope},
          {"quantization_config", Quantisation()},
          {"rms_norm_eps", 1e-5},
          {"routed_expert_hidden_size", o.latent},
          {"routed_scaling_factor", 1.0},
          {"tie_word_embeddings", false},
          {"topk_group", o.top_groups},
          {"topk_method", "noaux_tc"},
          {"use_cache", true},
          {"use_grouped_topk", true},
          {"v_head_dim", o.value},
          {"vocab_size", o.vocab}};
}

}  // namespace

Result<std::string> SynthConfig(const SynthOptions& options) {
  constexpr uint64_t kMostLayers = 1 << 20;  // Bounds the lists; the exact limit is ParseShape's.
  if (options.layers > kMostLayers || options.vocab == 0) {
    return Refused(fmt::format("layers: expected 1 to {} and a vocabulary, got {} and {}",
                               kMostLayers, options.layers, options.vocab));
  }
  PENSTOCK_TRY(const Lists lists, LayerLists(options));
  Json config = TextConfig(options, lists);
  if (!options.flat) {
    const Tokens tokens(options.vocab);
    config = {{"architectures", {"KimiK3ForConditionalGeneration"}},
              {"bos_token_id", tokens.bos},
              {"dtype", "bfloat16"},
              {"eos_token_id", tokens.eos},
              {"ignore_index", -100},
              {"model_type", "kimi_k3"},
              {"pad_token_id", tokens.pad},
              {"text_config", std::move(config)},
              {"tie_word_embeddings", false}};
  }
  std::string text = config.dump(2) + "\n";
  auto shape = ParseShape(text, "the config of these options");
  if (!shape) return std::move(shape).error();
  return text;
}

}  // namespace penstock::k3
