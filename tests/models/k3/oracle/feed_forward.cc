#include "tests/models/k3/oracle/feed_forward.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace penstock::k3::oracle {
namespace {

double Situ(const Config& c, const Mistakes& wrong, double gate, double up) {
  if (wrong.contains(Mistake::kSituCapsForgotten)) return Silu(gate) * up;
  const double b = c.situ_beta;
  const double capped = b * std::tanh(gate / b);
  const double opening = Sigmoid(wrong.contains(Mistake::kSituGateCapped) ? capped : gate);
  if (!c.situ_linear_beta) return capped * opening * up;
  return capped * opening * *c.situ_linear_beta * std::tanh(up / *c.situ_linear_beta);
}

// The experts that may be chosen at all: those of the groups whose two best scores sum highest.
std::vector<bool> AllowedExperts(const Config& c, const Vector& biased) {
  if (c.groups <= c.top_groups) return std::vector<bool>(c.experts, true);
  const size_t size = c.experts / c.groups;
  Vector scores;
  for (size_t g = 0; g < c.groups; ++g) {
    Vector members(biased.begin() + static_cast<std::ptrdiff_t>(g * size),
                   biased.begin() + static_cast<std::ptrdiff_t>((g + 1) * size));
    std::sort(members.rbegin(), members.rend());
    scores.push_back(members[0] + (size > 1 ? members[1] : 0));
  }
  std::vector<size_t> order(c.groups);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  std::vector<bool> allowed(c.experts, false);
  for (size_t i = 0; i < c.top_groups; ++i) {
    for (size_t e = 0; e < size; ++e) allowed[order[i] * size + e] = true;
  }
  return allowed;
}

Routing Route(const Config& c, const MoeWeights& w, const Mistakes& wrong, const Vector& x) {
  Vector scores = Multiply(w.router, x);
  if (wrong.contains(Mistake::kScoresSoftmax)) {
    Softmax(scores);
  } else {
    for (double& score : scores) score = Sigmoid(score);
  }
  Vector biased = scores;
  if (!wrong.contains(Mistake::kBiasIgnored)) AddTo(biased, w.bias);
  const std::vector<bool> allowed = AllowedExperts(c, biased);
  std::vector<uint32_t> order;
  for (uint32_t e = 0; e < c.experts; ++e) {
    if (allowed[e]) order.push_back(e);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return biased[a] > biased[b]; });
  Routing routing;
  routing.margin = order.size() > c.top_k ? biased[order[c.top_k - 1]] - biased[order[c.top_k]]
                                          : std::numeric_limits<double>::infinity();
  order.resize(c.top_k);
  routing.experts = order;
  double sum = 1e-20;
  for (const uint32_t e : order) {
    routing.weights.push_back(wrong.contains(Mistake::kWeightsBiased) ? biased[e] : scores[e]);
    sum += routing.weights.back();
  }
  const bool renormalize = c.renormalize && c.top_k > 1;
  for (double& weight : routing.weights) weight *= c.routed_scale / (renormalize ? sum : 1);
  return routing;
}

}  // namespace

Vector Mlp(const Config& c, const MlpWeights& w, const Mistakes& wrong, const Vector& x) {
  Vector inner = Multiply(w.gate, x);
  const Vector up = Multiply(w.up, x);
  for (size_t i = 0; i < inner.size(); ++i) inner[i] = Situ(c, wrong, inner[i], up[i]);
  return Multiply(w.down, inner);
}

Vector Moe(const Config& c, const MoeWeights& w, const Mistakes& wrong, const Vector& x,
           const Vector& unnormed, Routing* routing) {
  const bool unnormed_router = wrong.contains(Mistake::kRouterUnnormed);
  const Routing chosen = Route(c, w, wrong, unnormed_router ? unnormed : x);
  const bool norm_each = wrong.contains(Mistake::kNormPerExpert);
  const size_t counted = chosen.experts.size() - (wrong.contains(Mistake::kExpertDropped) ? 1 : 0);
  const Vector z = Multiply(w.latent_down, x);
  Vector sum(c.latent, 0.0);
  for (size_t i = 0; i < counted; ++i) {
    Vector out = Mlp(c, w.experts[chosen.experts[i]], wrong, z);
    if (norm_each) out = RmsNorm(out, w.latent_norm, c.eps);
    for (size_t d = 0; d < c.latent; ++d) sum[d] += chosen.weights[i] * out[d];
  }
  if (!norm_each && !wrong.contains(Mistake::kLatentNormOmitted)) {
    sum = RmsNorm(sum, w.latent_norm, c.eps);
  }
  Vector y = Multiply(w.latent_up, sum);
  if (!wrong.contains(Mistake::kSharedForgotten)) AddTo(y, Mlp(c, w.shared, wrong, x));
  if (routing != nullptr) *routing = chosen;
  return y;
}

}  // namespace penstock::k3::oracle
