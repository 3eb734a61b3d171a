#pragma once

#include <string>

#include "models/k3/synth/synth.h"

namespace penstock::k3 {

// A checkpoint of about 400 MB, of which the trunk is some 120 MB: what a test needs that gives a
// run less memory than the weights take.
inline SynthOptions LargeCheckpoint(const std::string& out) {
  SynthOptions options;
  options.out = out;
  options.layers = 8;
  options.hidden = 1024;
  options.vocab = 8192;
  options.kda_heads = 8;
  options.kda_width = 128;
  options.mla_heads = 8;
  options.q_rank = 256;
  options.kv_rank = 128;
  options.nope = options.value = 64;
  options.rope = 32;
  options.dense_width = 4096;
  options.experts = 96;
  options.top_k = 4;
  options.latent = options.expert_width = 512;
  return options;
}

}  // namespace penstock::k3
