#include "models/k3/census/place.h"

#include <array>
#include <charconv>

namespace penstock::k3 {
namespace {

constexpr std::string_view kLayers = "model.layers.";

CensusKind KindInLayer(std::string_view rest) {
  if (rest.starts_with("self_attn.")) return CensusKind::kAttention;
  if (rest.starts_with("mlp.")) return CensusKind::kDense;
  if (rest.starts_with("block_sparse_moe.experts.")) return CensusKind::kExperts;
  if (rest.starts_with("block_sparse_moe.shared_experts.")) return CensusKind::kShared;
  if (rest.starts_with("block_sparse_moe.")) return CensusKind::kRouter;
  return CensusKind::kVectors;
}

}  // namespace

std::string_view CensusKindName(CensusKind kind) {
  constexpr std::array<std::string_view, kCensusKinds> kNames = {
      "attention", "dense", "router", "shared", "experts", "vectors", "embedding", "head", "other"};
  return kNames[static_cast<size_t>(kind)];
}

CensusPlace CensusPlaceOf(std::string_view name, size_t layers) {
  if (name.starts_with(kWrapper)) name.remove_prefix(kWrapper.size());
  if (name == "lm_head.weight") return {{}, CensusKind::kHead};
  if (name == "model.embed_tokens.weight") return {{}, CensusKind::kEmbedding};
  if (name == "model.norm.weight" || name.starts_with("model.output_attn_res_")) {
    return {{}, CensusKind::kVectors};
  }
  if (!name.starts_with(kLayers)) return {};
  name.remove_prefix(kLayers.size());
  size_t layer = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), layer);
  if (error != std::errc() || layer >= layers) return {};
  name.remove_prefix(static_cast<size_t>(end - name.data()));
  if (!name.starts_with('.')) return {};
  return {layer, KindInLayer(name.substr(1))};
}

}  // namespace penstock::k3
