#include "models/k3/census/place.h"

#include <gtest/gtest.h>

namespace penstock::k3 {
namespace {

TEST(CensusPlace, FollowsTheName) {
  const auto kind = [](std::string_view name) { return CensusPlaceOf(name, 4).kind; };
  const auto layer = [](std::string_view name) { return CensusPlaceOf(name, 4).layer; };
  EXPECT_EQ(kind("language_model.lm_head.weight"), CensusKind::kHead);
  EXPECT_EQ(kind("model.embed_tokens.weight"), CensusKind::kEmbedding);
  EXPECT_EQ(kind("model.norm.weight"), CensusKind::kVectors);
  EXPECT_EQ(layer("model.norm.weight"), std::nullopt);
  EXPECT_EQ(kind("model.layers.3.self_attn.q_proj.weight"), CensusKind::kAttention);
  EXPECT_EQ(layer("language_model.model.layers.3.self_attn.q_proj.weight"), 3u);
  EXPECT_EQ(kind("model.layers.0.block_sparse_moe.experts.7.w1.weight_packed"),
            CensusKind::kExperts);
  EXPECT_EQ(kind("model.layers.0.block_sparse_moe.shared_experts.up.weight"), CensusKind::kShared);
  EXPECT_EQ(kind("model.layers.0.block_sparse_moe.gate.weight"), CensusKind::kRouter);
  EXPECT_EQ(kind("model.layers.0.mlp.up_proj.weight"), CensusKind::kDense);
  EXPECT_EQ(kind("model.layers.0.input_layernorm.weight"), CensusKind::kVectors);
}

TEST(CensusPlace, WhatIsNoLayerIsOutside) {
  for (const std::string_view name :
       {"model.layers.4.mlp.w", "model.layers.x.mlp.w", "model.layers.3", "model.layers.3mlp.w",
        "model.layers.", "vision.w", ""}) {
    const CensusPlace place = CensusPlaceOf(name, 4);
    EXPECT_EQ(place.kind, CensusKind::kOther) << name;
    EXPECT_EQ(place.layer, std::nullopt) << name;
  }
}

}  // namespace
}  // namespace penstock::k3
