#include "models/k3/synth/preset.h"

namespace penstock::k3 {
namespace {

constexpr std::string_view kSlice = "k3-slice";

}  // namespace

SynthOptions PresetOptions(std::string_view preset) {
  SynthOptions o;
  if (preset != kSlice) return o;
  o.layers = 6;
  o.vocab = 8192;
  o.experts = 48;
  // From here on the numbers of the released config.json.
  o.hidden = 7168;
  o.context = 1048576;
  o.kda_heads = 96;
  o.kda_width = 128;
  o.mla_heads = 96;
  o.q_rank = 1536;
  o.kv_rank = 512;
  o.nope = 128;
  o.rope = 64;
  o.value = 128;
  o.dense_width = 33792;
  o.top_k = 16;
  o.latent = 3584;
  o.expert_width = 3072;
  o.residual_block = 12;
  o.weights = "trained";
  o.routes = "k3-like";
  return o;
}

uint64_t PresetMeasure(std::string_view preset) { return preset == kSlice ? 16 : 0; }

}  // namespace penstock::k3
