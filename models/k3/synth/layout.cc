#include "models/k3/synth/layout.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace penstock::k3 {
namespace {

using io::Dtype;

Recipe Normal(double mean, double spread) {
  Recipe recipe;
  recipe.mean = static_cast<float>(mean);
  recipe.spread = static_cast<float>(spread);
  return recipe;
}

// Collects the tensors of one shard below a common name.
//
// The scales: every sub-layer sees an input of root mean square 1 (RMSNorm), so a matrix with
// deviation 1 / sqrt(columns) keeps it there; sub-layer outputs come to about 0.5 to 1 and are only
// ever added within one residual block. Mixing vectors of deviation 1 / sqrt(H) give scores of
// deviation 1, a router of 1.5 / sqrt(H) gives sigmoids from 0.05 to 0.95.
class ShardTensors {
 public:
  ShardTensors(const Shape& shape, std::string base) : shape_(shape), base_(std::move(base)) {}

  std::vector<SynthTensor> Take() && { return std::move(out_); }

  void Ends() {
    const uint64_t V = shape_.vocab, H = shape_.hidden;
    Add("model.embed_tokens.weight", Dtype::kBF16, {V, H}, Normal(0, 1));
    Norm("model.norm.weight", H);
    Norm("model.output_attn_res_norm.weight", H);
    Add("model.output_attn_res_proj.weight", Dtype::kBF16, {1, H}, Mixing());
    Matrix("lm_head.weight", V, H, 3);
  }

  void Kda(bool a_log_padding) {
    const uint64_t H = shape_.hidden, D = shape_.kda_width, P = shape_.kda_total();
    ALog(a_log_padding);
    // Around -4: most channels decay by a few per cent a token, some by half.
    Add("self_attn.dt_bias", Dtype::kF32, {P}, Normal(-4, 1.5));
    Add("self_attn.o_norm.weight", Dtype::kF32, {D}, Normal(1, 0.1));
    for (const char* which : {"q", "k", "v"}) {
      Add(fmt::format("self_attn.{}_conv1d.weight", which), Dtype::kF32, {P, 1, shape_.conv_taps},
          Normal(0, 1 / std::sqrt(static_cast<double>(shape_.conv_taps))));
    }
    Matrix("self_attn.b_proj.weight", shape_.kda_heads, H);
    Matrix("self_attn.f_a_proj.weight", D, H);
    Matrix("self_attn.f_b_proj.weight", P, D);
    if (shape_.full_rank_gate) {
      Matrix("self_attn.g_proj.weight", P, H);
    } else {
      Matrix("self_attn.g_a_proj.weight", D, H);
      Matrix("self_attn.g_b_proj.weight", P, D);
    }
    Matrix("self_attn.k_proj.weight", P, H);
    Matrix("self_attn.o_proj.weight", H, P);
    Matrix("self_attn.q_proj.weight", P, H);
    Matrix("self_attn.v_proj.weight", P, H);
  }

  void Mla() {
    const uint64_t H = shape_.hidden, r = shape_.q_rank, c = shape_.kv_rank;
    const uint64_t values = shape_.mla_value_total();
    Matrix("self_attn.q_a_proj.weight", r, H);
    Norm("self_attn.q_a_layernorm.weight", r);
    Matrix("self_attn.q_b_proj.weight", shape_.mla_q_total(), r);
    Matrix("self_attn.kv_a_proj_with_mqa.weight", c + shape_.rope, H);
    Norm("self_attn.kv_a_layernorm.weight", c);
    Matrix("self_attn.kv_b_proj.weight", shape_.mla_heads * (shape_.nope + shape_.value), c);
    Matrix("self_attn.g_proj.weight", values, H);
    Matrix("self_attn.o_proj.weight", H, values);
  }

  void Norms() {
    const uint64_t H = shape_.hidden;
    Norm("input_layernorm.weight", H);
    Norm("post_attention_layernorm.weight", H);
    Norm("self_attention_res_norm.weight", H);
    Norm("mlp_res_norm.weight", H);
    Add("self_attention_res_proj.weight", Dtype::kBF16, {1, H}, Mixing());
    Add("mlp_res_proj.weight", Dtype::kBF16, {1, H}, Mixing());
  }

  void Dense(const std::string& part, uint64_t width) {
    Matrix(part + "gate_proj.weight", width, shape_.hidden);
    Matrix(part + "up_proj.weight", width, shape_.hidden);
    Matrix(part + "down_proj.weight", shape_.hidden, width);
  }

  void Moe() {
    const uint64_t H = shape_.hidden, E = shape_.experts, L = shape_.latent;
    const std::string moe = "block_sparse_moe.";
    Add(moe + "gate.e_score_correction_bias", Dtype::kF32, {E}, Normal(0, 0.05));
    Matrix(moe + "gate.weight", E, H, 1.5);
    Matrix(moe + "routed_expert_down_proj.weight", L, H);
    Norm(moe + "routed_expert_norm.weight", L);
    Matrix(moe + "routed_expert_up_proj.weight", H, L, 0.7);
    Dense(moe + "shared_experts.", shape_.shared_width());
    std::vector<std::string> numbers;
    for (size_t e = 0; e < shape_.experts; ++e) numbers.push_back(std::to_string(e));
    std::sort(numbers.begin(), numbers.end());  // As text: 0, 1, 10, 100, 101, ...
    for (const std::string& number : numbers) {
      const std::string expert = moe + "experts." + number + ".";
      Expert(expert + "w1.", shape_.expert_width, L);
      Expert(expert + "w2.", L, shape_.expert_width);
      Expert(expert + "w3.", shape_.expert_width, L);
    }
  }

 private:
  static constexpr uint64_t kPadding = 64;

  void Add(const std::string& name, Dtype dtype, std::vector<uint64_t> dims, Recipe recipe) {
    out_.push_back({base_ + name, dtype, std::move(dims), recipe});
  }

  void Norm(const std::string& name, uint64_t size) {
    Add(name, Dtype::kBF16, {size}, Normal(1, 0.1));
  }

  void Matrix(const std::string& name, uint64_t rows, uint64_t cols, double gain = 1) {
    Add(name, Dtype::kBF16, {rows, cols}, Normal(0, gain / std::sqrt(static_cast<double>(cols))));
  }

  void Expert(const std::string& base, uint64_t rows, uint64_t cols) {
    Recipe codes, scales;
    codes.kind = Recipe::Kind::kCodes;
    scales.kind = Recipe::Kind::kScales;
    scales.exponent = ScaleExponent(1 / std::sqrt(static_cast<double>(cols)));
    Add(base + "weight_packed", Dtype::kU8, {rows, cols / 2}, codes);
    Add(base + "weight_scale", Dtype::kU8, {rows, cols / 32}, scales);
  }

  void ALog(bool padding) {
    const uint64_t heads = shape_.kda_heads;
    Recipe recipe = Normal(0, 0.7);
    recipe.kind = Recipe::Kind::kUniform;
    recipe.used = heads;
    const uint64_t stored = padding ? (heads / kPadding + 1) * kPadding : heads;
    Add("self_attn.A_log", Dtype::kF32, {stored}, recipe);
  }

  Recipe Mixing() const { return Normal(0, 1 / std::sqrt(static_cast<double>(shape_.hidden))); }

  const Shape& shape_;
  std::string base_;
  std::vector<SynthTensor> out_;
};

}  // namespace

std::string SynthLayout::FileName(size_t shard) const {
  return fmt::format("model-{:05}-of-{:06}.safetensors", shard + 1, shards());
}

std::vector<SynthTensor> SynthLayout::Shard(size_t shard) const {
  if (shard == shape_.layers) {
    ShardTensors ends(shape_, prefix_);
    ends.Ends();
    return std::move(ends).Take();
  }
  ShardTensors layer(shape_, fmt::format("{}model.layers.{}.", prefix_, shard));
  if (shape_.IsKda(shard)) {
    layer.Kda(a_log_padding_);
  } else {
    layer.Mla();
  }
  layer.Norms();
  if (shape_.IsMoe(shard)) {
    layer.Moe();
  } else {
    layer.Dense("mlp.", shape_.dense_width);
  }
  return std::move(layer).Take();
}

}  // namespace penstock::k3
