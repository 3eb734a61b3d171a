#include "models/k3/weights/catalogue.h"

#include <span>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "io/safetensors/names.h"
#include "runtime/check.h"

namespace penstock::k3 {
namespace {

using io::Dtype;
using Dims = std::vector<uint64_t>;

constexpr std::string_view kWrapperPrefix = "language_model.";
constexpr std::string_view kEmbed = "model.embed_tokens.weight";

}  // namespace

// Looks tensors up by name and checks each against what the shape says. Keeps the first error.
class CatalogueBuilder {
 public:
  // Without a checkpoint every tensor is taken to be there and what the shape says.
  CatalogueBuilder(const io::Checkpoint* checkpoint, const Shape& shape)
      : checkpoint_(checkpoint), shape_(shape) {}

  Result<Catalogue> Build() {
    if (checkpoint_ != nullptr) {
      PENSTOCK_TRY_VOID(FindPrefix());
      out_.files_ = checkpoint_->files();
    }
    const uint64_t H = shape_.hidden;
    out_.embed = TakeMatrix("model.embed_tokens.weight", shape_.vocab, H);
    out_.head = TakeMatrix("lm_head.weight", shape_.vocab, H);
    out_.norm = TakeVector("model.norm.weight", Dtype::kBF16, {H});
    out_.out_res_norm = TakeVector("model.output_attn_res_norm.weight", Dtype::kBF16, {H});
    out_.out_res_proj = TakeVector("model.output_attn_res_proj.weight", Dtype::kBF16, {1, H});
    // Grown layer by layer as tensors are found: a config that claims more allocates nothing.
    for (size_t layer = 0; layer < shape_.layers && !error_; ++layer) {
      base_ = fmt::format("model.layers.{}.", layer);
      out_.first_expert_.push_back(out_.experts_.size());
      out_.layers_.push_back(TakeLayer(layer));
      if (checkpoint_ != nullptr && shape_.IsMoe(layer)) TakeExperts();
    }
    if (error_) return *std::move(error_);
    out_.experts_.shrink_to_fit();
    return std::move(out_);
  }

 private:
  // The wrapper's prefix or none, decided once by the embedding.
  Status FindPrefix() {
    const bool wrapped = checkpoint_->Find(std::string(kWrapperPrefix).append(kEmbed)).has_value();
    const bool bare = checkpoint_->Find(kEmbed).has_value();
    if (wrapped && bare) {
      return Refused(fmt::format("{}: tensor {} is there with and without the prefix '{}'",
                                 checkpoint_->directory(), io::Quoted(kEmbed), kWrapperPrefix));
    }
    if (!wrapped && !bare) {
      return Refused(fmt::format("{}: expected tensor '{}{}' (or without '{}'), got none",
                                 checkpoint_->directory(), kWrapperPrefix, kEmbed, kWrapperPrefix));
    }
    if (wrapped) prefix_ = kWrapperPrefix;
    return {};
  }

  LayerTensors TakeLayer(size_t layer) {
    const uint64_t H = shape_.hidden;
    const auto norm = [&](std::string_view name) { return LayerVector(name, Dtype::kBF16, {H}); };
    const auto proj = [&](std::string_view name) {
      return LayerVector(name, Dtype::kBF16, {1, H});
    };
    LayerTensors out;
    out.input_norm = norm("input_layernorm.weight");
    out.post_norm = norm("post_attention_layernorm.weight");
    out.attn_res_norm = norm("self_attention_res_norm.weight");
    out.attn_res_proj = proj("self_attention_res_proj.weight");
    out.mlp_res_norm = norm("mlp_res_norm.weight");
    out.mlp_res_proj = proj("mlp_res_proj.weight");
    if (shape_.IsKda(layer)) {
      out.kda = TakeKda();
    } else {
      out.mla = TakeMla();
    }
    if (shape_.IsMoe(layer)) {
      out.moe = TakeMoe();
    } else {
      out.dense = TakeDense("mlp.", shape_.dense_width);
    }
    return out;
  }

  KdaTensors TakeKda() {
    const uint64_t H = shape_.hidden, D = shape_.kda_width, P = shape_.kda_total();
    KdaTensors out;
    out.q = LayerMatrix("self_attn.q_proj.weight", P, H);
    out.k = LayerMatrix("self_attn.k_proj.weight", P, H);
    out.v = LayerMatrix("self_attn.v_proj.weight", P, H);
    out.o = LayerMatrix("self_attn.o_proj.weight", H, P);
    out.f_a = LayerMatrix("self_attn.f_a_proj.weight", D, H);
    out.f_b = LayerMatrix("self_attn.f_b_proj.weight", P, D);
    out.b = LayerMatrix("self_attn.b_proj.weight", shape_.kda_heads, H);
    if (shape_.full_rank_gate) {
      out.g = LayerMatrix("self_attn.g_proj.weight", P, H);
    } else {
      out.g_a = LayerMatrix("self_attn.g_a_proj.weight", D, H);
      out.g_b = LayerMatrix("self_attn.g_b_proj.weight", P, D);
    }
    const Dims conv = {P, 1, shape_.conv_taps};
    out.q_conv = LayerVector("self_attn.q_conv1d.weight", Dtype::kF32, conv);
    out.k_conv = LayerVector("self_attn.k_conv1d.weight", Dtype::kF32, conv);
    out.v_conv = LayerVector("self_attn.v_conv1d.weight", Dtype::kF32, conv);
    out.a_log = TakeALog();
    out.dt_bias = LayerVector("self_attn.dt_bias", Dtype::kF32, {P});
    out.o_norm = LayerVector("self_attn.o_norm.weight", Dtype::kF32, {D});
    return out;
  }

  // One value per head; the release pads with zeros, which are not even read.
  Vector TakeALog() {
    const std::string name = base_ + "self_attn.A_log";
    const uint64_t heads = shape_.kda_heads;
    if (checkpoint_ == nullptr) return TakeVector(name, Dtype::kF32, {heads});
    const auto info = Find(name);
    if (!info) return {};
    if (info->dtype != Dtype::kF32 || info->shape.size() != 1 || info->shape[0] < heads) {
      Mismatch(*info, fmt::format("F32 of at least {} values in one dimension", heads));
      return {};
    }
    io::Extent extent = info->extent;
    extent.bytes = heads * io::DtypeBytes(Dtype::kF32);
    return {extent, Dtype::kF32, static_cast<uint32_t>(heads)};
  }

  MlaTensors TakeMla() {
    const uint64_t H = shape_.hidden, r = shape_.q_rank, c = shape_.kv_rank;
    const uint64_t values = shape_.mla_value_total();
    MlaTensors out;
    out.q_a = LayerMatrix("self_attn.q_a_proj.weight", r, H);
    out.q_b = LayerMatrix("self_attn.q_b_proj.weight", shape_.mla_q_total(), r);
    out.kv_a = LayerMatrix("self_attn.kv_a_proj_with_mqa.weight", c + shape_.rope, H);
    out.kv_b = LayerMatrix("self_attn.kv_b_proj.weight",
                           shape_.mla_heads * (shape_.nope + shape_.value), c);
    out.g = LayerMatrix("self_attn.g_proj.weight", values, H);
    out.o = LayerMatrix("self_attn.o_proj.weight", H, values);
    out.q_a_norm = LayerVector("self_attn.q_a_layernorm.weight", Dtype::kBF16, {r});
    out.kv_a_norm = LayerVector("self_attn.kv_a_layernorm.weight", Dtype::kBF16, {c});
    return out;
  }

  DenseTensors TakeDense(const std::string& part, uint64_t width) {
    DenseTensors out;
    out.gate = LayerMatrix(part + "gate_proj.weight", width, shape_.hidden);
    out.up = LayerMatrix(part + "up_proj.weight", width, shape_.hidden);
    out.down = LayerMatrix(part + "down_proj.weight", shape_.hidden, width);
    return out;
  }

  MoeTensors TakeMoe() {
    const uint64_t H = shape_.hidden, E = shape_.experts, L = shape_.latent;
    const std::string moe = "block_sparse_moe.";
    MoeTensors out;
    out.router = LayerMatrix(moe + "gate.weight", E, H);
    out.bias = LayerVector(moe + "gate.e_score_correction_bias", Dtype::kF32, {E});
    out.latent_down = LayerMatrix(moe + "routed_expert_down_proj.weight", L, H);
    out.latent_up = LayerMatrix(moe + "routed_expert_up_proj.weight", H, L);
    out.latent_norm = LayerVector(moe + "routed_expert_norm.weight", Dtype::kBF16, {L});
    out.shared = TakeDense(moe + "shared_experts.", shape_.shared_width());
    return out;
  }

  void TakeExperts() {
    for (size_t e = 0; e < shape_.experts && !error_; ++e) {
      const std::string base = fmt::format("{}block_sparse_moe.experts.{}.", base_, e);
      const uint64_t F = shape_.expert_width, L = shape_.latent;
      ExpertTensors out;
      out.w1_packed = TakeBytes(base + "w1.weight_packed", F, L / 2);
      out.w1_scale = TakeBytes(base + "w1.weight_scale", F, L / 32);
      out.w2_packed = TakeBytes(base + "w2.weight_packed", L, F / 2);
      out.w2_scale = TakeBytes(base + "w2.weight_scale", L, F / 32);
      out.w3_packed = TakeBytes(base + "w3.weight_packed", F, L / 2);
      out.w3_scale = TakeBytes(base + "w3.weight_scale", F, L / 32);
      out_.experts_.push_back(out);
    }
  }

  Matrix LayerMatrix(std::string_view name, uint64_t rows, uint64_t cols) {
    return TakeMatrix(std::string(base_).append(name), rows, cols);
  }

  Vector LayerVector(std::string_view name, Dtype dtype, const Dims& dims) {
    return TakeVector(std::string(base_).append(name), dtype, dims);
  }

  Matrix TakeMatrix(const std::string& name, uint64_t rows, uint64_t cols) {
    const io::Extent extent = Take(name, Dtype::kBF16, {rows, cols});
    return {extent, static_cast<uint32_t>(rows), static_cast<uint32_t>(cols)};
  }

  Vector TakeVector(const std::string& name, Dtype dtype, const Dims& dims) {
    const io::Extent extent = Take(name, dtype, dims);
    return {extent, dtype, static_cast<uint32_t>(extent.bytes / io::DtypeBytes(dtype))};
  }

  io::Extent TakeBytes(const std::string& name, uint64_t rows, uint64_t cols) {
    return Take(name, Dtype::kU8, {rows, cols});
  }

  // The tensor's extent, or the first error.
  io::Extent Take(const std::string& name, Dtype dtype, const Dims& dims) {
    if (checkpoint_ == nullptr) return Assume(dtype, dims);
    const auto info = Find(name);
    if (!info) return {};
    const bool same = std::equal(dims.begin(), dims.end(), info->shape.begin(), info->shape.end());
    if (info->dtype != dtype || !same) {
      Mismatch(*info, fmt::format("{} {}", io::DtypeName(dtype), dims));
      return {};
    }
    return info->extent;
  }

  static io::Extent Assume(Dtype dtype, const Dims& dims) {
    uint64_t bytes = io::DtypeBytes(dtype);
    for (const uint64_t dim : dims) bytes *= dim;
    return {.file = 0, .offset = 0, .bytes = bytes, .tag = 0};
  }

  std::optional<io::TensorInfo> Find(const std::string& name) {
    if (error_) return std::nullopt;
    auto info = checkpoint_->Find(prefix_ + name);
    if (!info) {
      error_ =
          Refused(fmt::format("{}: expected tensor '{}{}', which the config calls for, got none",
                              checkpoint_->directory(), prefix_, name));
    }
    return info;
  }

  void Mismatch(const io::TensorInfo& info, const std::string& expected) {
    error_ = Refused(fmt::format("{}: tensor {}: expected {} from the config, got {} {}",
                                 checkpoint_->files()[info.extent.file], io::Quoted(info.name()),
                                 expected, io::DtypeName(info.dtype), info.shape));
  }

  const io::Checkpoint* const checkpoint_;  // Null: assumed.
  const Shape& shape_;
  std::string prefix_;
  std::string base_;  // "model.layers.7." of the layer being built.
  Catalogue out_;
  std::optional<Error> error_;
};

Result<Catalogue> Catalogue::Build(const io::Checkpoint& checkpoint, const Shape& shape) {
  return CatalogueBuilder(&checkpoint, shape).Build();
}

Catalogue Catalogue::Assume(const Shape& shape) {
  Result<Catalogue> assumed = CatalogueBuilder(nullptr, shape).Build();
  PENSTOCK_CHECK(assumed.has_value());
  return *std::move(assumed);
}

ExpertTensors Catalogue::expert(size_t layer, size_t e) const {
  PENSTOCK_CHECK(layer < layers_.size() && layers_[layer].moe.has_value());
  PENSTOCK_CHECK(e < layers_[layer].moe->router.rows);
  return experts_[first_expert_[layer] + e];
}

}  // namespace penstock::k3
