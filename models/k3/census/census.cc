#include "models/k3/census/census.h"

#include <algorithm>

#include <fmt/format.h>

#include "models/k3/weights/catalogue.h"
#include "runtime/size.h"

namespace penstock::k3 {
namespace {

bool IsNumber(std::string_view part) {
  return !part.empty() &&
         std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string PatternOf(std::string_view name) {
  std::string out;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (begin > 0) out += '.';
    out += IsNumber(part) ? "*" : part;
    begin = end + 1;
  }
  return out;
}

CensusCount& Of(CensusCounts& counts, CensusKind kind) { return counts[static_cast<size_t>(kind)]; }

uint64_t ParametersOf(const io::TensorInfo& info) {
  const uint64_t elements = info.extent.bytes / io::DtypeBytes(info.dtype);
  if (info.leaf.ends_with("weight_scale")) return 0;
  return info.leaf.ends_with("weight_packed") ? 2 * elements : elements;
}

void CountStep(CensusModel& model) {
  const Shape& shape = model.shape;
  for (const CensusLayer& layer : model.layers) {
    for (size_t kind = 0; kind < kCensusKinds; ++kind) {
      if (static_cast<CensusKind>(kind) == CensusKind::kExperts) {
        model.step_expert_bytes += layer.kinds[kind].bytes / shape.experts * shape.top_k;
      } else {
        model.step_trunk_bytes += layer.kinds[kind].bytes;
      }
    }
  }
  model.step_head_bytes =
      Of(model.ends, CensusKind::kHead).bytes + Of(model.ends, CensusKind::kVectors).bytes;
  model.step_row_bytes = Of(model.ends, CensusKind::kEmbedding).bytes / shape.vocab;
}

// The values of the config that decide the arithmetic, under the release's keys.
std::vector<std::pair<std::string, std::string>> ReadValues(const Shape& s,
                                                            const std::vector<uint32_t>& eos) {
  const std::string linear = "linear_attn_config.";
  std::vector<std::pair<std::string, std::string>> out;
  const auto add = [&](std::string key, const auto& value) {
    out.emplace_back(std::move(key), fmt::format("{}", value));
  };
  add("num_hidden_layers", s.layers);
  add("hidden_size", s.hidden);
  add("vocab_size", s.vocab);
  add("max_position_embeddings", s.max_context);
  add("rms_norm_eps", s.norm_eps);
  add("attn_res_block_size", s.residual_block);
  add(linear + "num_heads", s.kda_heads);
  add(linear + "head_dim", s.kda_width);
  add(linear + "short_conv_kernel_size", s.conv_taps);
  add(linear + "gate_lower_bound",
      s.decay_bound == 0 ? "absent" : fmt::format("{}", s.decay_bound));
  add(linear + "use_full_rank_gate", s.full_rank_gate);
  add("num_attention_heads", s.mla_heads);
  add("q_lora_rank", s.q_rank);
  add("kv_lora_rank", s.kv_rank);
  add("qk_nope_head_dim", s.nope);
  add("qk_rope_head_dim", s.rope);
  add("v_head_dim", s.value);
  add("first_k_dense_replace", s.first_moe);
  add("moe_layer_freq", s.moe_freq);
  add("intermediate_size", s.dense_width);
  add("num_experts", s.experts);
  add("num_experts_per_token", s.top_k);
  add("num_expert_group", s.groups);
  add("topk_group", s.top_groups);
  add("num_shared_experts", s.shared_experts);
  add("routed_expert_hidden_size", s.latent);
  add("moe_intermediate_size", s.expert_width);
  add("moe_renormalize", s.renormalize);
  add("routed_scaling_factor", s.routed_scale);
  add("activation_situ_beta", s.situ_beta);
  add("activation_situ_linear_beta",
      s.situ_linear_beta == 0 ? "null" : fmt::format("{}", s.situ_linear_beta));
  for (const uint32_t id : eos) add("eos_token_id", id);
  return out;
}

std::vector<std::pair<std::string, std::string>> InferredValues(const CensusModel& model,
                                                                const Catalogue& catalogue,
                                                                const io::Checkpoint& checkpoint) {
  const Shape& s = model.shape;
  std::vector<size_t> kda, mla, moe;
  for (size_t layer = 0; layer < s.layers; ++layer) {
    (s.IsKda(layer) ? kda : mla).push_back(layer);
    if (s.IsMoe(layer)) moe.push_back(layer);
  }
  const uint64_t state =
      kda.size() * 4 * (s.kda_total() * s.kda_width + 3 * s.kda_total() * (s.conv_taps - 1));
  const bool wrapped = checkpoint.Find("language_model.model.embed_tokens.weight").has_value();
  std::vector<std::pair<std::string, std::string>> out = {
      {"layers with KDA (from 0)", Ranges(kda)},
      {"layers with MLA (from 0)", Ranges(mla)},
      {"layers with experts (from 0)", Ranges(moe)},
      {"decay", s.decay_bound == 0 ? "softplus form, as gate_lower_bound is absent"
                                   : "bounded form, from gate_lower_bound"},
      {"epsilon of the latent norms",
       fmt::format("{}, as the release's model code has it", kLatentNormEps)},
      {"names", wrapped ? "with the prefix language_model." : "without a prefix"},
      {"parameters", std::to_string(model.parameters)},
      {"KDA state of a sequence, f32", DescribeSize(state)},
      {"MLA latent of a position, f32", DescribeSize(mla.size() * 4 * (s.kv_rank + s.rope))}};
  if (!kda.empty()) {
    const std::string name =
        fmt::format("{}model.layers.{}.self_attn.A_log", wrapped ? kWrapper : "", kda.front());
    out.emplace_back(
        "A_log", fmt::format("{} values stored, the first {} used", checkpoint.Find(name)->shape[0],
                             catalogue.layer(kda.front()).kda->a_log.size));
  }
  return out;
}

Result<CensusModel> CountModel(const io::Checkpoint& checkpoint) {
  PENSTOCK_TRY(Config config, ReadConfig(checkpoint.directory()));
  PENSTOCK_TRY(const Catalogue catalogue, Catalogue::Build(checkpoint, config.shape));
  CensusModel model;
  model.shape = std::move(config.shape);
  model.eos = std::move(config.eos);
  model.layers.resize(model.shape.layers);
  for (size_t layer = 0; layer < model.shape.layers; ++layer) {
    model.layers[layer].kda = model.shape.IsKda(layer);
    model.layers[layer].moe = model.shape.IsMoe(layer);
  }
  for (size_t i = 0; i < checkpoint.size(); ++i) {
    const io::TensorInfo info = checkpoint.tensor(i);
    const CensusPlace place = CensusPlaceOf(info.name(), model.shape.layers);
    CensusCounts& counts = place.layer ? model.layers[*place.layer].kinds : model.ends;
    Of(counts, place.kind).Add(info.extent.bytes);
    if (place.kind != CensusKind::kOther) model.parameters += ParametersOf(info);
  }
  CountStep(model);
  model.read = ReadValues(model.shape, model.eos);
  model.inferred = InferredValues(model, catalogue, checkpoint);
  return model;
}

using PatternKey = std::tuple<std::string, io::Dtype, std::vector<uint64_t>>;

void CountTensors(const io::Checkpoint& checkpoint, Census& census) {
  std::map<io::Dtype, CensusCount> dtypes;
  std::map<PatternKey, CensusCount> patterns;
  for (size_t i = 0; i < checkpoint.size(); ++i) {
    const io::TensorInfo info = checkpoint.tensor(i);
    census.total.Add(info.extent.bytes);
    dtypes[info.dtype].Add(info.extent.bytes);
    patterns[{PatternOf(info.name()), info.dtype, {info.shape.begin(), info.shape.end()}}].Add(
        info.extent.bytes);
  }
  census.dtypes.assign(dtypes.begin(), dtypes.end());
  for (const auto& [key, count] : patterns) {
    census.patterns.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), count});
  }
}

}  // namespace

std::string Ranges(const std::vector<size_t>& numbers) {
  std::string out;
  for (size_t begin = 0; begin < numbers.size();) {
    size_t end = begin + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    if (!out.empty()) out += ',';
    out += std::to_string(numbers[begin]);
    if (end - begin > 1) out += (end - begin > 2 ? "-" : ",") + std::to_string(numbers[end - 1]);
    begin = end;
  }
  return out.empty() ? "none" : out;
}

Result<Census> TakeCensus(const std::string& directory, const Notice& notice) {
  PENSTOCK_TRY(const auto checkpoint, io::Checkpoint::Open(directory, notice));
  Census census;
  census.directory = checkpoint->directory();
  census.has_index = checkpoint->has_index();
  census.files = checkpoint->files();
  PENSTOCK_TRY(census.identity, checkpoint->Identity());
  CountTensors(*checkpoint, census);
  auto model = CountModel(*checkpoint);
  if (model) {
    census.model = std::move(*model);
  } else {
    census.not_k3 = model.error().message;
  }
  return census;
}

}  // namespace penstock::k3
