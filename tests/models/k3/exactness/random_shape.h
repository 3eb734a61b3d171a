#pragma once

#include <cstddef>
#include <random>

#include "models/k3/synth/synth.h"

namespace penstock::k3 {

// A small checkpoint of odd proportions.
inline SynthOptions DrawShape(std::mt19937& random) {
  const auto between = [&](size_t least, size_t most) {
    return least + random() % (most - least + 1);
  };
  SynthOptions options;
  options.vocab = 300;
  options.seed = random();
  options.layers = between(2, 9);
  options.hidden = 4 * between(4, 24);
  options.kda_heads = between(1, 5);
  options.kda_width = between(3, 36);
  options.taps = between(1, 5);
  options.mla_heads = between(1, 11);
  options.q_rank = between(4, 40);
  options.kv_rank = between(3, 40);
  options.nope = between(3, 16);
  options.rope = between(1, 8);
  options.value = between(3, 16);
  options.experts = between(4, 12);
  options.top_k = between(1, 4);
  options.shared = 1;
  options.latent = 32 * between(1, 5);
  options.expert_width = 32 * between(1, 3);
  options.dense_width = between(8, 60);
  options.residual_block = between(1, 5);
  options.full_rank_gate = random() % 2 == 0;
  options.decay_bound = random() % 2 == 0 ? options.decay_bound : 0;
  return options;
}

}  // namespace penstock::k3
