#include "models/k3/synth/routes.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "models/k3/synth/numbers.h"

namespace penstock::k3 {
namespace {

constexpr double kLogitSpread = 1.5;    // Sigmoids from 0.05 to 0.95.
constexpr double kSigmoidSlope = 0.18;  // Its mean over such logits.
constexpr double kOwnWrite = 4;         // What a layer's attention writes into its channels.
// What every sub-layer writes elsewhere. Little: it adds up in the channels of later layers. All
// rows alike: rows of several sizes would have exponents of more entropy than trained ones.
constexpr double kOtherWrite = 0.125;
constexpr double kQuietEmbedding = 0.05;
constexpr double kFreeRouter = 0.03;  // Of what a token channel's weight would be for all of it.

double Tail(double x) { return 0.5 * std::erfc(x / std::numbers::sqrt2); }

double Threshold(double fraction) {
  double low = -10, high = 10;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (Tail(middle) > fraction ? low : high) = middle;
  }
  return low;
}

// How the shares follow from what is wanted. Choosing k of E by chance alone repeats k / E.
RouteShares SharesFor(double repeat, double recall, double fraction, double biased) {
  RouteShares shares;
  shares.lasting = CorrelationOf(repeat, fraction);
  // The guess lacks what the layer writes: its correlation with the truth is the root of the rest.
  const double known = std::pow(CorrelationOf(recall, fraction), 2);
  shares.token = std::max(0.0, known - shares.lasting);
  shares.bias = biased * shares.lasting;
  return shares;
}

}  // namespace

double TopOverlap(double correlation, double fraction) {
  if (correlation >= 1) return 1;
  const double threshold = Threshold(fraction);
  const double rest = std::sqrt(1 - correlation * correlation);
  constexpr int kSteps = 400;
  constexpr double kWidth = 10;
  double sum = 0;
  for (int i = 0; i < kSteps; ++i) {
    const double z = threshold + kWidth * (i + 0.5) / kSteps;
    sum += std::exp(-0.5 * z * z) * Tail((threshold - correlation * z) / rest);
  }
  return sum * kWidth / kSteps / std::sqrt(2 * std::numbers::pi) / fraction;
}

double CorrelationOf(double overlap, double fraction) {
  double low = 0, high = 1;
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (TopOverlap(middle, fraction) < overlap ? low : high) = middle;
  }
  return high < 1e-9 ? 0 : low;
}

std::optional<RouteDesign> RouteDesign::Make(std::string_view routes, const Shape& shape) {
  if (routes == "plain") return std::nullopt;
  if (routes == "uniform") return RouteDesign(shape, {}, 0);
  const double fraction =
      std::min(0.999, static_cast<double>(shape.top_k) / static_cast<double>(shape.experts));
  if (routes == "sticky") {
    return RouteDesign(shape, SharesFor(std::max(0.88, fraction), 0.92, fraction, 0.2), 1);
  }
  const double repeat = fraction + 0.08 * (1 - fraction);
  return RouteDesign(shape, SharesFor(repeat, 0.5, fraction, 0.5), 0.5);
}

RouteDesign::RouteDesign(const Shape& shape, RouteShares shares, double lasting_value)
    : hidden_(shape.hidden),
      layers_(shape.layers),
      shares_(shares),
      lasting_value_(lasting_value) {}

RouteDesign::Place RouteDesign::PlaceOf(size_t channel) const {
  switch (channel % 4) {
    case 0:
      return {Kind::kLasting, 0};
    case 1:
      return {Kind::kToken, 0};
    case 2:
      return {Kind::kLayer, channel / 4 % layers_};
    default:
      return {Kind::kFree, 0};
  }
}

double RouteDesign::bias_spread() const {
  return kSigmoidSlope * kLogitSpread * std::sqrt(shares_.bias);
}

std::shared_ptr<const Gains> RouteDesign::Embedding() const {
  auto gains = std::make_shared<Gains>();
  for (size_t c = 0; c < hidden_; ++c) {
    const Kind kind = PlaceOf(c).kind;
    const bool lasts = kind == Kind::kLasting && lasting_value_ > 0;
    const bool positive = SplitMix(c * kSplitMixStep) % 2 == 0;
    gains->common.push_back(static_cast<float>(lasts ? (positive ? 1 : -1) * lasting_value_ : 0));
    gains->columns.push_back(static_cast<float>(
        lasts ? 0.3 * lasting_value_ : (kind == Kind::kLayer ? kQuietEmbedding : 1)));
  }
  return gains;
}

std::shared_ptr<const Gains> RouteDesign::Router(size_t layer) const {
  double own = 0, others = 0;
  for (size_t c = 0; c < hidden_; ++c) {
    const Place place = PlaceOf(c);
    own += place.kind == Kind::kLayer && place.layer == layer;
    others += place.kind == Kind::kToken;
  }
  const auto weight = [](double share, double channels) {
    return kLogitSpread * std::sqrt(std::max(0.0, share) / std::max(1.0, channels));
  };
  const double lasting = weight(shares_.lasting - shares_.bias, others);
  // Attended values have a root mean square of about a half, embedding rows of 1.
  const double fresh = weight(1 - shares_.lasting - shares_.token, own) / (0.5 * kOwnWrite);
  const double quiet = kFreeRouter * weight(1, others);
  auto gains = std::make_shared<Gains>();
  for (size_t c = 0; c < hidden_; ++c) {
    const Place place = PlaceOf(c);
    double gain = quiet;
    if (place.kind == Kind::kLasting && lasting_value_ > 0) gain = lasting / lasting_value_;
    if (place.kind == Kind::kToken) gain = std::max(gain, weight(shares_.token, others));
    if (place.kind == Kind::kLayer && place.layer == layer) gain = fresh;
    gains->columns.push_back(static_cast<float>(gain));
  }
  return gains;
}

std::shared_ptr<const Gains> RouteDesign::Rows(size_t own_layer) const {
  auto gains = std::make_shared<Gains>();
  for (size_t c = 0; c < hidden_; ++c) {
    const Place place = PlaceOf(c);
    const bool own = place.kind == Kind::kLayer && place.layer == own_layer;
    gains->rows.push_back(static_cast<float>(own ? kOwnWrite : kOtherWrite));
  }
  return gains;
}

std::shared_ptr<const Gains> RouteDesign::AttentionOut(size_t layer) const { return Rows(layer); }

std::shared_ptr<const Gains> RouteDesign::MlpOut() const { return Rows(layers_); }

}  // namespace penstock::k3
