#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::ops {

struct RouterConfig {
  size_t experts = 0;
  size_t top_k = 0;       // at most the experts of the groups that stay
  size_t groups = 1;      // num_expert_group; divides experts
  size_t top_groups = 1;  // topk_group; the cut by groups acts only where groups > top_groups
  bool renormalize = true;
  float scale = 1.0f;  // routed_scaling_factor
};

// Chooses the experts of one position: the top_k largest scores + bias, ties to the lower id, in
// descending order of that sum. With more groups than top_groups only the experts of the best
// top_groups groups compete; a group's score is the sum of its two best biased scores, ties to the
// lower group. Weights are the unbiased scores; when `renormalize` and top_k > 1 divided by their
// sum + 1e-20 (added in the order of choice); then times `scale`.
//   scores  [experts] sig(logit)   bias [experts]   ids, weights [top_k], overwritten
//   scratch [experts] floats, overwritten
// A NaN never wins against a number and still gives a NaN weight when it is chosen.
// Threads: re-entrant. Errors: none; an impossible config is a broken check. Source: the K3
// release's modelling file, which leaves the order of ties open.
void Route(const RouterConfig& config, const float* scores, const float* bias, float* scratch,
           uint32_t* ids, float* weights);

}  // namespace penstock::ops
