#include "models/k3/synth/layout.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace penstock::k3 {
namespace {

using io::Dtype;

Recipe NormalRecipe(double mean, double spread) {
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
  ShardTensors(const Shape& shape, const SynthStyle& style, size_t layer, std::string base)
      : shape_(shape), style_(style), layer_(layer), base_(std::move(base)) {}

  std::vector<SynthTensor> Take() && { return std::move(out_); }

  void Ends() {
    const uint64_t V = shape_.vocab, H = shape_.hidden;
    Recipe embedding = NormalRecipe(0, 1);
    if (style_.routes) embedding = Rows(embedding, H, style_.routes->Embedding());
    Add("model.embed_tokens.weight", Dtype::kBF16, {V, H}, embedding);
    Norm("model.norm.weight", H);
    Norm("model.output_attn_res_norm.weight", H);
    Add("model.output_attn_res_proj.weight", Dtype::kBF16, {1, H}, Mixing());
    Matrix("lm_head.weight", V, H, 3);
  }

  void Kda(bool a_log_padding) {
    const uint64_t H = shape_.hidden, D = shape_.kda_width, P = shape_.kda_total();
    ALog(a_log_padding);
    // Around -4: most channels decay by a few per cent a token, some by half.
    Add("self_attn.dt_bias", Dtype::kF32, {P}, NormalRecipe(-4, 1.5));
    Add("self_attn.o_norm.weight", Dtype::kF32, {D}, NormalRecipe(1, 0.1));
    const double conv = 1 / std::sqrt(static_cast<double>(shape_.conv_taps));
    const double query_key = style_.routes ? RouteDesign::kConvQueryKeyGain : 1;
    const double value = style_.routes ? RouteDesign::kConvValueGain : 1;
    Conv("q", conv * query_key);
    Conv("k", conv * query_key);
    Conv("v", conv * value);
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
    AttentionOut(P);
    Matrix("self_attn.q_proj.weight", P, H);
    Matrix("self_attn.v_proj.weight", P, H);
  }

  void Mla() {
    const uint64_t H = shape_.hidden, r = shape_.q_rank, c = shape_.kv_rank;
    const uint64_t values = shape_.mla_value_total();
    Matrix("self_attn.q_a_proj.weight", r, H);
    Norm("self_attn.q_a_layernorm.weight", r);
    Matrix("self_attn.q_b_proj.weight", shape_.mla_q_total(), r,
           style_.routes ? RouteDesign::kQueryGain : 1);
    Matrix("self_attn.kv_a_proj_with_mqa.weight", c + shape_.rope, H);
    Norm("self_attn.kv_a_layernorm.weight", c);
    Matrix("self_attn.kv_b_proj.weight", shape_.mla_heads * (shape_.nope + shape_.value), c);
    Matrix("self_attn.g_proj.weight", values, H);
    AttentionOut(values);
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
    Matrix(part + "down_proj.weight", shape_.hidden, width, 1, MlpOut());
  }

  void Moe() {
    const uint64_t H = shape_.hidden, L = shape_.latent;
    const std::string moe = "block_sparse_moe.";
    Router(moe + "gate.");
    Matrix(moe + "routed_expert_down_proj.weight", L, H);
    Norm(moe + "routed_expert_norm.weight", L);
    Matrix(moe + "routed_expert_up_proj.weight", H, L, 0.7, MlpOut());
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
    Add(name, Dtype::kBF16, {size}, NormalRecipe(1, 0.1));
  }

  using SharedGains = std::shared_ptr<const Gains>;

  static Recipe Rows(Recipe recipe, uint64_t row, SharedGains gains) {
    recipe.kind = Recipe::Kind::kRows;
    recipe.row = row;
    recipe.gains = std::move(gains);
    return recipe;
  }

  void Matrix(const std::string& name, uint64_t rows, uint64_t cols, double gain = 1,
              SharedGains gains = nullptr) {
    Recipe recipe = NormalRecipe(0, gain / std::sqrt(static_cast<double>(cols)));
    if (style_.trained || gains) recipe = Rows(recipe, cols, std::move(gains));
    if (style_.trained) recipe.kind = Recipe::Kind::kTrained;
    Add(name, Dtype::kBF16, {rows, cols}, recipe);
  }

  void Conv(const char* which, double spread) {
    Add(fmt::format("self_attn.{}_conv1d.weight", which), Dtype::kF32,
        {shape_.kda_total(), 1, shape_.conv_taps}, NormalRecipe(0, spread));
  }

  void AttentionOut(uint64_t cols) {
    Matrix("self_attn.o_proj.weight", shape_.hidden, cols, 1,
           style_.routes ? style_.routes->AttentionOut(layer_) : nullptr);
  }

  SharedGains MlpOut() const { return style_.routes ? style_.routes->MlpOut() : nullptr; }

  // Rows of a designed router are alike: larger ones would be chosen more often.
  void Router(const std::string& base) {
    const uint64_t H = shape_.hidden, E = shape_.experts;
    const double bias = style_.routes ? style_.routes->bias_spread() : 0.05;
    Add(base + "e_score_correction_bias", Dtype::kF32, {E}, NormalRecipe(0, bias));
    if (!style_.routes) return Matrix(base + "weight", E, H, 1.5);
    Add(base + "weight", Dtype::kBF16, {E, H},
        Rows(NormalRecipe(0, 1), H, style_.routes->Router(layer_)));
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
    Recipe recipe = NormalRecipe(0, 0.7);
    recipe.kind = Recipe::Kind::kUniform;
    recipe.used = heads;
    const uint64_t stored = padding ? (heads / kPadding + 1) * kPadding : heads;
    Add("self_attn.A_log", Dtype::kF32, {stored}, recipe);
  }

  Recipe Mixing() const {
    const double gain = style_.routes ? RouteDesign::kMixingGain : 1;
    return NormalRecipe(0, gain / std::sqrt(static_cast<double>(shape_.hidden)));
  }

  const Shape& shape_;
  const SynthStyle& style_;
  size_t layer_;
  std::string base_;
  std::vector<SynthTensor> out_;
};

}  // namespace

std::string SynthLayout::FileName(size_t shard) const {
  return fmt::format("model-{:05}-of-{:06}.safetensors", shard + 1, shards());
}

std::vector<SynthTensor> SynthLayout::Shard(size_t shard) const {
  if (shard == shape_.layers) {
    ShardTensors ends(shape_, style_, shard, prefix_);
    ends.Ends();
    return std::move(ends).Take();
  }
  ShardTensors layer(shape_, style_, shard, fmt::format("{}model.layers.{}.", prefix_, shard));
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
