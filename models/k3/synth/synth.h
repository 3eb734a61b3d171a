#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "models/k3/config/shape.h"
#include "runtime/result.h"

namespace penstock::k3 {

// The shape of a random checkpoint. The defaults are those of the embedded one (7 million
// parameters).
struct SynthOptions {
  std::string out;  // The directory to make.
  uint64_t seed = 1;
  uint64_t layers = 9;
  uint64_t hidden = 128;
  uint64_t vocab = 2048;
  uint64_t context = 8192;
  uint64_t kda_heads = 3;
  uint64_t kda_width = 64;
  uint64_t taps = 4;
  double decay_bound = -5;
  bool full_rank_gate = true;
  bool a_log_padding = true;
  std::string mla_layers;
  uint64_t mla_heads = 4;
  uint64_t q_rank = 64;
  uint64_t kv_rank = 48;
  uint64_t nope = 32;
  uint64_t rope = 16;
  uint64_t value = 32;
  uint64_t first_dense = 1;
  uint64_t dense_width = 256;
  uint64_t experts = 32;
  uint64_t top_k = 4;
  uint64_t groups = 1;
  uint64_t top_groups = 1;
  uint64_t shared = 2;
  uint64_t latent = 96;
  uint64_t expert_width = 64;
  uint64_t residual_block = 4;
  bool flat = false;
  std::string weights = "normal";
  std::string routes = "plain";

  template <class Self, class V>
  static void Visit(Self& c, V&& v) {
    constexpr uint64_t kMost = uint64_t{1} << 24;  // ParseShape draws the exact limits.
    v("out,o", c.out, "Directory to write; it must be empty or not be there.");
    v("seed", c.seed, "", 0, INT64_MAX, "Two checkpoints of one shape and seed are the same.");
    v("layers", c.layers, "layers", 1, kMost, "Layers.");
    v("hidden", c.hidden, "channels", 1, kMost, "Width of the residual stream.");
    v("vocab", c.vocab, "tokens", 1, kMost, "Size of the vocabulary.");
    v("context", c.context, "positions", 1, INT32_MAX, "Positions the config claims.");
    v("kda-heads", c.kda_heads, "heads", 1, kMost, "Heads of Kimi Delta Attention.");
    v("kda-width", c.kda_width, "channels", 1, kMost, "Width of a KDA head.");
    v("taps", c.taps, "taps", 1, kMost, "Taps of KDA's short convolution.");
    v("decay-bound", c.decay_bound, "", -1000.0, 0.0,
      "Lower bound of KDA's log decay. 0: none, the softplus form.");
    v("full-rank-gate", c.full_rank_gate, "KDA's output gate as one matrix, not two of low rank.");
    v("a-log-padding", c.a_log_padding, "Store A_log with zeros behind its heads, as the release.");
    v("mla-layers", c.mla_layers,
      "Layers with latent attention, counted from one, as \"4,8,9\". Default: every fourth and the "
      "last.");
    v("mla-heads", c.mla_heads, "heads", 1, kMost, "Heads of latent attention.");
    v("q-rank", c.q_rank, "channels", 1, kMost, "Rank of the query projection.");
    v("kv-rank", c.kv_rank, "channels", 1, kMost, "Rank of the key-value latent.");
    v("nope", c.nope, "channels", 1, kMost, "Width of a head's own key.");
    v("rope", c.rope, "channels", 1, kMost, "Width of the key that heads share.");
    v("value", c.value, "channels", 1, kMost, "Width of a head's value.");
    v("first-dense", c.first_dense, "layers", 0, kMost, "Layers at the start without experts.");
    v("dense-width", c.dense_width, "channels", 1, kMost, "Width of the dense layers.");
    v("experts", c.experts, "experts", 1, kMost, "Routed experts in a layer.");
    v("top-k", c.top_k, "experts", 1, kMost, "Experts chosen for a token.");
    v("groups", c.groups, "groups", 1, kMost, "Groups of experts.");
    v("top-groups", c.top_groups, "groups", 1, kMost, "Groups chosen for a token.");
    v("shared", c.shared, "experts", 1, kMost, "Shared experts.");
    v("latent", c.latent, "channels", 1, kMost, "Width the experts see, a multiple of 32.");
    v("expert-width", c.expert_width, "channels", 1, kMost,
      "Width inside an expert, a multiple of 32.");
    v("residual-block", c.residual_block, "layers", 1, kMost,
      "Layers in an attention residual block.");
    v("flat", c.flat, "The text model alone: flat config, names without the wrapper's prefix.");
    v("weights", c.weights, {"normal", "trained"},
      "How weights are distributed. trained: rows of different size, some heavy-tailed, so that "
      "exponents have the entropy of trained ones.");
    v("routes", c.routes, {"plain", "k3-like", "sticky", "uniform"},
      "How tokens choose experts. k3-like: skewed, half foreseen by the next layer's router. "
      "sticky: mostly those of the token before. uniform: without information. plain: as random "
      "weights happen to choose.");
  }
};

struct SynthResult {
  uint64_t files = 0;  // Shards.
  uint64_t tensors = 0;
  uint64_t bytes = 0;  // Of the tensors.
};

// Called with the bytes of tensors written so far and in all; false ends it with kCancelled.
using SynthProgress = std::function<bool(uint64_t done, uint64_t total)>;

// Writes a random checkpoint in the format of the release: layer i in shard i + 1, the ends in the
// last one; inside a layer the trunk first, then the experts in lexicographic order of their
// number, each as w1, w2, w3 with packed codes before scales; config.json, generation_config.json
// and the index. No tokenizer.
//
// Every value is a function of seed, tensor name and position, so that neither threads nor order
// can change one. Scales keep activations near 1 through any number of layers, spread the routes
// over the experts and give logits with a standard deviation of about 3.
//
// Everything goes to temporary names and is renamed at the end: after an error (a full disk, a
// cancellation) nothing is left. Memory is bounded by twice the header of a shard plus
// 33 MiB. One thread for each CPU allowed fills while the caller writes, past the page cache where
// the file system can.
// kRefused: the options do not make a model, the directory is not empty, the disk is too small.
Result<SynthResult> Synthesize(const SynthOptions& options, const SynthProgress& progress);

// config.json of the options as text; refused where the reader of configs would refuse it.
Result<std::string> SynthConfig(const SynthOptions& options);

}  // namespace penstock::k3
