#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "models/k3/config/shape.h"
#include "models/k3/synth/values.h"

namespace penstock::k3 {

// How much of a router's logits (of their variance) comes from where. The rest is what the layer's
// own attention has just written, which nothing before that layer can know.
struct RouteShares {
  double lasting = 0;  // The same for every token: what repeats from token to token,
  double bias = 0;     // of which the selection bias makes so much.
  double token = 0;    // Follows the token alone: known before the layer.
};

// Weights whose routes have chosen statistics.
//
// The channels of the residual stream are in four kinds, by column % 4. `Lasting` channels have a
// value that all embedding rows share. `Token` channels differ between the rows. `Layer` channels
// are dealt out to the layers in turn; the embedding and every other sub-layer write little into
// them, so that they are quiet until the attention of their layer writes. The rest is free, and a
// router hardly looks at it. A router's weights have a gain for each kind, so that the shares of
// its logits are what RouteShares asks for, at any depth: all kinds pass the same mixes and norms.
class RouteDesign {
 public:
  // "k3-like", "sticky" or "uniform"; nothing for "plain". Of k3-like routes the next layer's router
  // recalls about a half whatever top_k of how many experts are chosen. An LRU cache of a quarter of
  // all experts finds none of them as long as one token uses more than it holds, top_k > experts / 4;
  // with more experts it finds what repeats.
  static std::optional<RouteDesign> Make(std::string_view routes, const Shape& shape);

  const RouteShares& shares() const { return shares_; }

  double bias_spread() const;  // Of e_score_correction_bias.
  std::shared_ptr<const Gains> Embedding() const;
  std::shared_ptr<const Gains> Router(size_t layer) const;
  std::shared_ptr<const Gains> AttentionOut(size_t layer) const;  // o_proj, by row.
  std::shared_ptr<const Gains> MlpOut() const;  // What writes y of an MLP, by row.

  // Attention must not blur what a token writes: latent attention has scores sharp enough to
  // choose few positions, and KDA's q and k stay small before their SiLU, which then has no mean.
  static constexpr double kQueryGain = 4;
  static constexpr double kConvQueryKeyGain = 0.3;
  static constexpr double kConvValueGain = 2;
  static constexpr double kMixingGain = 0.3;  // Blocks of the residual stream have like weights.

 private:
  enum class Kind : uint8_t { kLasting, kToken, kLayer, kFree };
  struct Place {
    Kind kind;
    size_t layer;  // kLayer alone.
  };
  RouteDesign(const Shape& shape, RouteShares shares, double lasting_value);
  Place PlaceOf(size_t channel) const;
  std::shared_ptr<const Gains> Rows(size_t own_layer) const;

  size_t hidden_ = 0;
  size_t layers_ = 0;
  RouteShares shares_;
  double lasting_value_ = 0;
};

// The share of the top `fraction` of many standard normal numbers that is in the top `fraction` of
// others, each correlated with its partner by `correlation`.
double TopOverlap(double correlation, double fraction);

// The correlation, 0 to 1, for which TopOverlap is `overlap`; the nearer end where there is none.
double CorrelationOf(double overlap, double fraction);

}  // namespace penstock::k3
