#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::ops {

struct RouterConfig {
  size_t experts = 0;
  size_t top_k = 0;
  size_t groups = 1;      // num_expert_group
  size_t top_groups = 1;  // topk_group
  bool renormalize = true;
  float scale = 1.0f;     // routed_scaling_factor
};

// Chooses experts for one position (k3 SPEC 9): the top_k largest sig(logit) + bias, ties to the
// lower id, in descending order of that score; weights are the unbiased scores, renormalised.
//   scores  [experts] sig(logit)   bias [experts]   ids, weights [top_k], overwritten
//   scratch [experts] floats
void Route(const RouterConfig& config, const float* scores, const float* bias, float* scratch,
           uint32_t* ids, float* weights);

}  // namespace penstock::ops
