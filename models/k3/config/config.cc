#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "io/safetensors/identity.h"
#include "io/safetensors/names.h"
#include "io/safetensors/regular_file.h"
#include "models/k3/config/shape.h"

namespace penstock::k3 {
namespace {

constexpr uint64_t kMaxConfigBytes = 4 << 20;

// Absolute limits, each far above the release, so that no product of shapes can overflow: a matrix
// has at most 2^24 rows of at most 2^24 columns, 2^49 bytes.
constexpr uint64_t kMaxLayers = 10'000;
constexpr uint64_t kMaxWidth = 1 << 20;
constexpr uint64_t kMaxProduct = 1 << 24;  // Of heads and width, of shared experts and width.
constexpr uint64_t kMaxCount = 1 << 16;    // Heads, experts.
constexpr uint64_t kMaxTaps = 64;
constexpr uint64_t kMaxContext = uint64_t{1} << 24;
constexpr uint64_t kGroup = 32;  // Columns that share one MXFP4 scale.

// Parses JSON and refuses a key that occurs twice in one object, which the library would resolve
// to the last one without a word.
Result<nlohmann::json> ParseJson(const std::string& text, const std::string& file) {
  std::vector<std::set<std::string>> open;
  std::string twice;
  const auto watch = [&](int, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    if (event == nlohmann::json::parse_event_t::object_start) open.emplace_back();
    if (event == nlohmann::json::parse_event_t::object_end) open.pop_back();
    if (event == nlohmann::json::parse_event_t::key && twice.empty() &&
        !open.back().insert(value.get<std::string>()).second) {
      twice = io::Quoted(value.get<std::string>());
    }
    return true;
  };
  try {
    nlohmann::json json = nlohmann::json::parse(text, watch);
    if (!twice.empty()) return Refused(fmt::format("{}: key {} is there twice", file, twice));
    if (!json.is_object())
      return Refused(fmt::format("{}: expected a JSON object, got else", file));
    return json;
  } catch (const nlohmann::json::parse_error& error) {
    return Refused(fmt::format("{}: not valid JSON at byte {}", file, error.byte));
  } catch (const nlohmann::json::exception&) {
    return Refused(fmt::format("{}: not valid JSON: a number is out of range", file));
  }
}

std::string Shown(const nlohmann::json& value) {
  std::string text = value.dump(-1, ' ', true);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

// One object of the config, with the path that leads to it for messages.
class Section {
 public:
  Section(const nlohmann::json& object, std::string path, const std::string& file)
      : object_(object), path_(std::move(path)), file_(file) {}

  const nlohmann::json* Find(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }

  Error Bad(const char* key, std::string_view expected) const {
    const nlohmann::json* value = Find(key);
    return Refused(fmt::format("{}: key '{}{}': expected {}, got {}", file_, path_, key, expected,
                               value ? Shown(*value) : "none"));
  }

  Status Count(const char* key, size_t& out, uint64_t min, uint64_t max) const {
    const nlohmann::json* value = Find(key);
    if (!value || !value->is_number_unsigned() || value->get<uint64_t>() < min ||
        value->get<uint64_t>() > max) {
      return Bad(key, fmt::format("a whole number from {} to {}", min, max));
    }
    out = value->get<size_t>();
    return {};
  }

  // A finite number above `above` that is a float32 too.
  Status Number(const char* key, float& out, float above) const {
    const nlohmann::json* value = Find(key);
    const float number = value && value->is_number() ? static_cast<float>(value->get<double>())
                                                     : std::numeric_limits<float>::quiet_NaN();
    if (!std::isfinite(number) || number <= above) {
      return Bad(key, fmt::format("a number above {}", above));
    }
    out = number;
    return {};
  }

  Status Bool(const char* key, bool& out) const {
    const nlohmann::json* value = Find(key);
    if (!value || !value->is_boolean()) return Bad(key, "true or false");
    out = value->get<bool>();
    return {};
  }

  // The only value this program knows how to compute.
  Status Is(const char* key, const nlohmann::json& expected) const {
    const nlohmann::json* value = Find(key);
    if (!value || *value != expected) return Bad(key, Shown(expected));
    return {};
  }

  Status IsIfThere(const char* key, const nlohmann::json& expected) const {
    return Find(key) ? Is(key, expected) : Status();
  }

  Result<Section> Object(const char* key) const {
    const nlohmann::json* value = Find(key);
    if (!value || !value->is_object()) return Bad(key, "an object");
    return Section(*value, path_ + key + ".", file_);
  }

  const nlohmann::json& json() const { return object_; }

 private:
  const nlohmann::json& object_;
  std::string path_;
  const std::string& file_;
};

Status ReadTower(const Section& text, Shape& shape) {
  PENSTOCK_TRY_VOID(text.Count("num_hidden_layers", shape.layers, 1, kMaxLayers));
  PENSTOCK_TRY_VOID(text.Count("hidden_size", shape.hidden, 1, kMaxWidth));
  PENSTOCK_TRY_VOID(text.Count("vocab_size", shape.vocab, 1, kMaxProduct));
  PENSTOCK_TRY_VOID(text.Number("rms_norm_eps", shape.norm_eps, 0));
  if (shape.norm_eps >= 1) return text.Bad("rms_norm_eps", "a number below 1");
  PENSTOCK_TRY_VOID(text.Count("attn_res_block_size", shape.residual_block, 1, kMaxLayers));
  PENSTOCK_TRY_VOID(text.Count("max_position_embeddings", shape.max_context, 1, kMaxContext));
  PENSTOCK_TRY_VOID(text.Count("intermediate_size", shape.dense_width, 1, kMaxWidth));
  PENSTOCK_TRY_VOID(text.Count("first_k_dense_replace", shape.first_moe, 0, shape.layers));
  return text.Count("moe_layer_freq", shape.moe_freq, 1, kMaxLayers);
}

// SiTU: a null beta means 1, a null linear beta leaves the up branch as it is; both keys are there.
Status ReadActivation(const Section& text, Shape& shape) {
  PENSTOCK_TRY_VOID(text.IsIfThere("model_type", "kimi_linear"));
  PENSTOCK_TRY_VOID(text.Is("hidden_act", "situ"));
  const nlohmann::json* beta = text.Find("activation_situ_beta");
  shape.situ_beta = 1;
  if (!beta || !beta->is_null()) {
    PENSTOCK_TRY_VOID(text.Number("activation_situ_beta", shape.situ_beta, 0));
  }
  const nlohmann::json* linear = text.Find("activation_situ_linear_beta");
  shape.situ_linear_beta = 0;
  if (linear && linear->is_null()) return {};
  return text.Number("activation_situ_linear_beta", shape.situ_linear_beta, 0);
}

Status ReadMla(const Section& text, Shape& shape) {
  PENSTOCK_TRY_VOID(text.Count("num_attention_heads", shape.mla_heads, 1, kMaxCount));
  PENSTOCK_TRY_VOID(text.Is("num_key_value_heads", shape.mla_heads));
  PENSTOCK_TRY_VOID(text.Count("q_lora_rank", shape.q_rank, 1, kMaxWidth));
  PENSTOCK_TRY_VOID(text.Count("kv_lora_rank", shape.kv_rank, 1, kMaxWidth));
  PENSTOCK_TRY_VOID(text.Count("qk_nope_head_dim", shape.nope, 1, kMaxCount));
  PENSTOCK_TRY_VOID(text.Count("qk_rope_head_dim", shape.rope, 1, kMaxCount));
  PENSTOCK_TRY_VOID(text.Count("v_head_dim", shape.value, 1, kMaxCount));
  const uint64_t widest = std::max(shape.nope + shape.rope, shape.nope + shape.value);
  if (shape.mla_heads * widest > kMaxProduct) {
    return text.Bad("num_attention_heads",
                    fmt::format("at most {} for heads of width {}", kMaxProduct / widest, widest));
  }
  PENSTOCK_TRY_VOID(text.Is("mla_use_nope", true));
  PENSTOCK_TRY_VOID(text.IsIfThere("attention_bias", false));
  return text.Is("mla_use_output_gate", true);
}

Status ReadKda(const Section& linear, Shape& shape) {
  PENSTOCK_TRY_VOID(linear.Count("num_heads", shape.kda_heads, 1, kMaxCount));
  PENSTOCK_TRY_VOID(linear.Count("head_dim", shape.kda_width, 1, kMaxCount));
  if (shape.kda_heads * shape.kda_width > kMaxProduct) {
    return linear.Bad("num_heads", fmt::format("at most {} for heads of width {}",
                                               kMaxProduct / shape.kda_width, shape.kda_width));
  }
  PENSTOCK_TRY_VOID(linear.Count("short_conv_kernel_size", shape.conv_taps, 1, kMaxTaps));
  PENSTOCK_TRY_VOID(linear.Bool("use_full_rank_gate", shape.full_rank_gate));
  // Absent (or null) is a meaning, not an omission: the decay in its softplus form.
  const nlohmann::json* bound = linear.Find("gate_lower_bound");
  shape.decay_bound = 0;
  if (!bound || bound->is_null()) return {};
  const float value = bound->is_number() ? static_cast<float>(bound->get<double>()) : 0;
  if (!std::isfinite(value) || value >= 0)
    return linear.Bad("gate_lower_bound", "a number below 0");
  shape.decay_bound = value;
  return {};
}

// Marks the layers of one list, which counts from one; each layer may be marked once over all
// lists.
Status MarkLayers(const Section& linear, const char* key, std::vector<bool>& marked,
                  std::vector<bool>* kda) {
  const nlohmann::json* list = linear.Find(key);
  if (!list || !list->is_array()) return linear.Bad(key, "a list of layers, counted from one");
  for (const nlohmann::json& item : *list) {
    if (!item.is_number_unsigned() || item.get<uint64_t>() < 1 ||
        item.get<uint64_t>() > marked.size()) {
      return linear.Bad(key,
                        fmt::format("layers from 1 to {} (found {})", marked.size(), Shown(item)));
    }
    const size_t layer = item.get<size_t>() - 1;
    if (marked[layer]) {
      return linear.Bad(key, fmt::format("each layer once in kda_layers and full_attn_layers "
                                         "together (found {} again)",
                                         layer + 1));
    }
    marked[layer] = true;
    if (kda) (*kda)[layer] = true;
  }
  return {};
}

Status ReadLayerKinds(const Section& linear, Shape& shape) {
  std::vector<bool> marked(shape.layers);
  shape.kda.assign(shape.layers, false);
  PENSTOCK_TRY_VOID(MarkLayers(linear, "kda_layers", marked, &shape.kda));
  PENSTOCK_TRY_VOID(MarkLayers(linear, "full_attn_layers", marked, nullptr));
  const auto missing = std::find(marked.begin(), marked.end(), false);
  if (missing == marked.end()) return {};
  return linear.Bad("kda_layers", fmt::format("every layer from 1 to {} in it or in "
                                              "full_attn_layers (layer {} is in neither)",
                                              shape.layers, missing - marked.begin() + 1));
}

Status CheckGroups(const Section& text, const Shape& shape) {
  if (shape.experts % shape.groups != 0) {
    return text.Bad("num_expert_group", fmt::format("a divisor of {} experts", shape.experts));
  }
  const size_t per_group = shape.experts / shape.groups;
  if (shape.top_groups < shape.groups && per_group < 2) {
    return text.Bad("num_expert_group", "groups of at least two experts");
  }
  if (shape.top_k > shape.top_groups * per_group) {
    return text.Bad("num_experts_per_token",
                    fmt::format("at most the {} experts of {} groups", shape.top_groups * per_group,
                                shape.top_groups));
  }
  return {};
}

Status ReadMoe(const Section& text, Shape& shape) {
  PENSTOCK_TRY_VOID(text.Count("num_experts", shape.experts, 1, kMaxCount));
  PENSTOCK_TRY_VOID(text.Count("num_experts_per_token", shape.top_k, 1, shape.experts));
  PENSTOCK_TRY_VOID(text.Count("num_shared_experts", shape.shared_experts, 1, kMaxCount));
  PENSTOCK_TRY_VOID(text.Count("routed_expert_hidden_size", shape.latent, 1, kMaxWidth));
  PENSTOCK_TRY_VOID(text.Count("moe_intermediate_size", shape.expert_width, 1, kMaxWidth));
  const std::string groups_of = fmt::format("a multiple of {}, the group of MXFP4", kGroup);
  if (shape.latent % kGroup) return text.Bad("routed_expert_hidden_size", groups_of);
  if (shape.expert_width % kGroup) return text.Bad("moe_intermediate_size", groups_of);
  if (shape.shared_width() > kMaxProduct) {
    return text.Bad("num_shared_experts",
                    fmt::format("at most {} for experts of width {}",
                                kMaxProduct / shape.expert_width, shape.expert_width));
  }
  PENSTOCK_TRY_VOID(text.Count("num_expert_group", shape.groups, 1, shape.experts));
  PENSTOCK_TRY_VOID(text.Count("topk_group", shape.top_groups, 1, shape.groups));
  PENSTOCK_TRY_VOID(CheckGroups(text, shape));
  PENSTOCK_TRY_VOID(text.Bool("moe_renormalize", shape.renormalize));
  PENSTOCK_TRY_VOID(text.Number("routed_scaling_factor", shape.routed_scale, 0));
  PENSTOCK_TRY_VOID(text.Is("moe_router_activation_func", "sigmoid"));
  PENSTOCK_TRY_VOID(text.Is("topk_method", "noaux_tc"));
  bool grouped = false;
  PENSTOCK_TRY_VOID(text.Bool("use_grouped_topk", grouped));
  if (!grouped && shape.groups != 1) return text.Bad("use_grouped_topk", "true with groups");
  return text.Is("latent_moe_use_norm", true);
}

Status CheckWeightScheme(const Section& weights) {
  PENSTOCK_TRY_VOID(weights.Is("num_bits", 4));
  PENSTOCK_TRY_VOID(weights.Is("type", "float"));
  PENSTOCK_TRY_VOID(weights.Is("group_size", kGroup));
  PENSTOCK_TRY_VOID(weights.Is("strategy", "group"));
  PENSTOCK_TRY_VOID(weights.Is("symmetric", true));
  PENSTOCK_TRY_VOID(weights.IsIfThere("dynamic", false));
  PENSTOCK_TRY_VOID(weights.IsIfThere("actorder", nullptr));
  PENSTOCK_TRY_VOID(weights.IsIfThere("block_structure", nullptr));
  PENSTOCK_TRY_VOID(weights.IsIfThere("zp_dtype", nullptr));
  return weights.IsIfThere("scale_dtype", "torch.uint8");
}

// Only the scheme of the routed experts is known: MXFP4 as compressed-tensors packs it. Which
// tensors have it follows from their names, not from the patterns here.
Status CheckQuantisation(const Section& quantisation) {
  PENSTOCK_TRY_VOID(quantisation.Is("quant_method", "compressed-tensors"));
  PENSTOCK_TRY_VOID(quantisation.Is("format", "mxfp4-pack-quantized"));
  PENSTOCK_TRY_VOID(quantisation.IsIfThere("quantization_status", "compressed"));
  PENSTOCK_TRY_VOID(quantisation.IsIfThere("kv_cache_scheme", nullptr));
  PENSTOCK_TRY(const Section groups, quantisation.Object("config_groups"));
  if (groups.json().empty()) return quantisation.Bad("config_groups", "a group");
  for (const auto& [name, unused] : groups.json().items()) {
    PENSTOCK_TRY(const Section group, groups.Object(name.c_str()));
    PENSTOCK_TRY_VOID(group.IsIfThere("format", "mxfp4-pack-quantized"));
    PENSTOCK_TRY_VOID(group.IsIfThere("input_activations", nullptr));
    PENSTOCK_TRY_VOID(group.IsIfThere("output_activations", nullptr));
    PENSTOCK_TRY(const Section weights, group.Object("weights"));
    PENSTOCK_TRY_VOID(CheckWeightScheme(weights));
  }
  return {};
}

// What the wrapper may say in place of the text config, or beside it.
Status CheckWrapper(const Section& outer, const Section& text) {
  PENSTOCK_TRY_VOID(outer.IsIfThere("tie_word_embeddings", false));
  PENSTOCK_TRY_VOID(text.IsIfThere("tie_word_embeddings", false));
  if (!outer.Find("tie_word_embeddings")) {
    PENSTOCK_TRY_VOID(text.Is("tie_word_embeddings", false));
  }
  const Section& holder = text.Find("quantization_config") ? text : outer;
  if (!holder.Find("quantization_config")) return text.Bad("quantization_config", "an object");
  PENSTOCK_TRY(const Section quantisation, holder.Object("quantization_config"));
  return CheckQuantisation(quantisation);
}

Result<Section> TextSection(const nlohmann::json& json, const std::string& file) {
  const Section outer(json, "", file);
  if (!outer.Find("text_config")) return outer;
  return outer.Object("text_config");
}

Result<Shape> ShapeOf(const nlohmann::json& json, const std::string& file) {
  PENSTOCK_TRY(const Section text, TextSection(json, file));
  Shape shape;
  PENSTOCK_TRY_VOID(ReadTower(text, shape));
  PENSTOCK_TRY_VOID(ReadActivation(text, shape));
  PENSTOCK_TRY_VOID(ReadMla(text, shape));
  PENSTOCK_TRY(const Section linear, text.Object("linear_attn_config"));
  PENSTOCK_TRY_VOID(ReadKda(linear, shape));
  PENSTOCK_TRY_VOID(ReadLayerKinds(linear, shape));
  PENSTOCK_TRY_VOID(ReadMoe(text, shape));
  PENSTOCK_TRY_VOID(CheckWrapper(Section(json, "", file), text));
  return shape;
}

// eos_token_id: one id, or a list of them.
Result<std::vector<uint32_t>> EosOf(const Section& section, size_t vocab) {
  const nlohmann::json& value = *section.Find("eos_token_id");
  const nlohmann::json list = value.is_array() ? value : nlohmann::json::array({value});
  std::vector<uint32_t> ids;
  for (const nlohmann::json& item : list) {
    if (!item.is_number_unsigned() || item.get<uint64_t>() >= vocab) {
      return section.Bad("eos_token_id", fmt::format("an id below {} or a list of them", vocab));
    }
    ids.push_back(item.get<uint32_t>());
  }
  if (ids.empty()) return section.Bad("eos_token_id", "at least one id");
  return ids;
}

bool HasEos(const Section& section) {
  const nlohmann::json* value = section.Find("eos_token_id");
  return value && !value->is_null();
}

Result<std::vector<uint32_t>> ReadEos(const std::string& directory, const nlohmann::json& config,
                                      const std::string& config_file, size_t vocab) {
  const std::string file = directory + "/generation_config.json";
  struct stat info {};
  if (::lstat(file.c_str(), &info) == 0) {
    PENSTOCK_TRY(const std::string text, io::ReadWholeFile(file, kMaxConfigBytes));
    PENSTOCK_TRY(const nlohmann::json json, ParseJson(text, file));
    const Section generation(json, "", file);
    if (HasEos(generation)) return EosOf(generation, vocab);
  }
  PENSTOCK_TRY(const Section text, TextSection(config, config_file));
  if (HasEos(text)) return EosOf(text, vocab);
  const Section outer(config, "", config_file);
  if (HasEos(outer)) return EosOf(outer, vocab);
  return outer.Bad("eos_token_id", "an id here or in generation_config.json");
}

}  // namespace

Result<Shape> ParseShape(const std::string& json, const std::string& file) {
  PENSTOCK_TRY(const nlohmann::json parsed, ParseJson(json, file));
  return ShapeOf(parsed, file);
}

Result<Config> ReadConfig(const std::string& directory) {
  const std::string file = directory + "/config.json";
  PENSTOCK_TRY(const std::string text, io::ReadWholeFile(file, kMaxConfigBytes));
  PENSTOCK_TRY(const nlohmann::json json, ParseJson(text, file));
  Config config;
  PENSTOCK_TRY(config.shape, ShapeOf(json, file));
  PENSTOCK_TRY(config.eos, ReadEos(directory, json, file, config.shape.vocab));
  PENSTOCK_TRY(config.text_json, io::TextConfig(text, file));
  return config;
}

}  // namespace penstock::k3
