#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/result.h"

namespace penstock::k3 {

// The numbers of one K3 checkpoint's text model, from config.json. Letters used in comments:
// T positions, H hidden width, L latent width, F expert width, E experts, V vocabulary.
// ParseShape keeps them within limits: no width times heads is above 2^24, so that no product of
// two matrix sides can overflow.
struct Shape {
  size_t layers = 0;
  size_t hidden = 0;
  size_t vocab = 0;
  float norm_eps = 0;  // rms_norm_eps; the two latent norms of MLA use kLatentNormEps.

  size_t kda_heads = 0;
  size_t kda_width = 0;  // head_dim
  size_t conv_taps = 0;
  float decay_bound = 0;  // gate_lower_bound; 0 when absent: the softplus form.
  bool full_rank_gate = true;

  size_t mla_heads = 0;
  size_t q_rank = 0;
  size_t kv_rank = 0;
  size_t nope = 0;
  size_t rope = 0;
  size_t value = 0;

  size_t dense_width = 0;  // intermediate_size
  size_t first_moe = 0;    // first_k_dense_replace
  size_t moe_freq = 1;
  size_t experts = 0;
  size_t top_k = 0;
  size_t shared_experts = 0;
  size_t latent = 0;        // routed_expert_hidden_size
  size_t expert_width = 0;  // moe_intermediate_size
  size_t groups = 1;
  size_t top_groups = 1;
  bool renormalize = true;
  float routed_scale = 1;

  size_t residual_block = 0;   // attn_res_block_size
  float situ_beta = 1;         // null means 1
  float situ_linear_beta = 0;  // 0: up passes unchanged (null)
  size_t max_context = 0;      // max_position_embeddings
  std::vector<bool> kda;       // [layers], zero-based

  bool IsKda(size_t layer) const { return kda[layer]; }
  bool IsMoe(size_t layer) const { return layer >= first_moe && layer % moe_freq == 0; }
  size_t moe_layers() const {
    size_t count = 0;
    for (size_t layer = 0; layer < layers; ++layer) count += IsMoe(layer);
    return count;
  }
  size_t kda_total() const { return kda_heads * kda_width; }  // P
  size_t mla_q_total() const { return mla_heads * (nope + rope); }
  size_t mla_value_total() const { return mla_heads * value; }
  size_t shared_width() const { return shared_experts * expert_width; }
};

// Of MLA's q_a_layernorm and kv_a_layernorm, which the release's model code constructs without an
// epsilon of their own.
inline constexpr float kLatentNormEps = 1e-6f;

// What config.json and generation_config.json say.
struct Config {
  Shape shape;
  std::vector<uint32_t> eos;  // From generation_config.json, else config.json; below vocab.
  std::string text_json;      // The text config as stored: what the identity covers.
};

// Reads config.json of `directory`: `text_config` if there, else the flat form. Refuses, with file,
// key, expected and got: a key that is missing or has an impossible value (nothing is defaulted;
// absence has a meaning for gate_lower_bound, null for it and the two SiTU constants), a key that
// occurs twice, layer lists that are not a partition of 1..layers, a quantisation other than
// compressed-tensors' MXFP4, and flags that ask for an arithmetic other than K3's.
Result<Config> ReadConfig(const std::string& directory);

// The same for the text of a config.json; `file` is for messages. Re-entrant.
Result<Shape> ParseShape(const std::string& json, const std::string& file);

}  // namespace penstock::k3
