#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "runtime/result.h"
#include "tests/models/k3/oracle/arithmetic.h"

namespace penstock::k3::oracle {

// config.json in the words of the release, as doubles and sizes. Every key must be there; only
// gate_lower_bound and the two activation constants may be absent or null, which has a meaning.
struct Config {
  size_t layers = 0, hidden = 0, vocab = 0;
  double eps = 0;
  size_t kda_heads = 0, kda_width = 0, taps = 0;
  std::optional<double> decay_bound;
  bool full_rank_gate = true;
  size_t heads = 0, q_rank = 0, kv_rank = 0, nope = 0, rope = 0, value = 0;
  size_t dense_width = 0, first_moe = 0, moe_freq = 1;
  size_t experts = 0, top_k = 0, shared = 0, latent = 0, expert_width = 0, groups = 1,
         top_groups = 1;
  bool renormalize = true;
  double routed_scale = 1;
  size_t residual_block = 0;
  double situ_beta = 1;
  std::optional<double> situ_linear_beta;
  std::vector<bool> kda;  // [layers], from zero.

  bool IsMoe(size_t layer) const { return layer >= first_moe && layer % moe_freq == 0; }
  size_t kda_total() const { return kda_heads * kda_width; }
};

struct KdaWeights {
  Matrix q, k, v, g, o, f_a, f_b, b;
  Matrix g_a;  // Only when the gate is of low rank; `g` is then g_b.
  Matrix conv_q, conv_k, conv_v;
  Vector a_log, dt_bias, o_norm;
};

struct MlaWeights {
  Matrix q_a, q_b, kv_a, kv_b, g, o;
  Vector q_norm, kv_norm;
};

struct MlpWeights {
  Matrix gate, up, down;
};

struct MoeWeights {
  Matrix router, latent_down, latent_up;
  Vector bias, latent_norm;
  MlpWeights shared;
  std::vector<MlpWeights> experts;  // gate = w1, up = w3, down = w2.
};

struct LayerWeights {
  Vector input_norm, post_norm;
  Vector attention_mix, mlp_mix;  // norm * proj, folded.
  KdaWeights kda;                 // One of kda, mla and one of dense, moe is filled.
  MlaWeights mla;
  MlpWeights dense;
  MoeWeights moe;
};

struct Weights {
  Config config;
  Matrix embed, head;
  Vector final_norm, final_mix;
  std::vector<LayerWeights> layers;
};

Result<Weights> LoadWeights(const std::string& directory);

}  // namespace penstock::k3::oracle
