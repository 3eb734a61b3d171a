#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace penstock::k3 {

// What the bytes of a K3 checkpoint are for.
enum class CensusKind : uint8_t {
  kAttention,  // self_attn
  kDense,      // mlp of a dense layer
  kRouter,     // router, its bias, latent projections and their norm
  kShared,     // shared experts
  kExperts,    // routed experts
  kVectors,    // norms and residual mixing, also the last ones
  kEmbedding,
  kHead,
  kOther  // Outside the text model.
};
inline constexpr size_t kCensusKinds = 9;
std::string_view CensusKindName(CensusKind kind);

// The prefix that some releases put before every name of the text model.
inline constexpr std::string_view kWrapper = "language_model.";

// Where a tensor of a K3 checkpoint belongs; layer is nothing for the ends.
struct CensusPlace {
  std::optional<size_t> layer;
  CensusKind kind = CensusKind::kOther;
};
CensusPlace CensusPlaceOf(std::string_view name, size_t layers);

}  // namespace penstock::k3
