#include "models/k3/census/entropy/plan.h"

#include <set>

#include <gtest/gtest.h>

#include "tests/models/k3/census/entropy/shard_of.h"
#include "tests/models/k3/tiny_model.h"

namespace penstock::k3 {
namespace {

TEST(SampleBlocks, CoverASmallTensor) {
  const EntropySample sample{false, 4, 8, 2};
  EXPECT_TRUE(SampleBlocks(0, sample).empty());
  for (const uint64_t bytes : {1u, 31u, 32u}) {
    const auto blocks = SampleBlocks(bytes, sample);
    ASSERT_EQ(blocks.size(), 1u);
    EXPECT_EQ(blocks[0].offset, 0u);
    EXPECT_EQ(blocks[0].bytes, bytes);
  }
}

TEST(SampleBlocks, SpreadOverALargeOne) {
  const EntropySample sample{false, 4, 8, 2};
  for (const uint64_t bytes : {33u, 40u, 47u, 100u, 8000u}) {
    const auto blocks = SampleBlocks(bytes, sample);
    ASSERT_EQ(blocks.size(), 4u);
    EXPECT_EQ(blocks.front().offset, 0u);
    EXPECT_EQ(blocks.back().offset, bytes / 8 * 8 - 8);
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(blocks[i].bytes, 8u);
      EXPECT_EQ(blocks[i].offset % 8, 0u);
      EXPECT_GE(blocks[i].offset, i > 0 ? blocks[i - 1].offset + 8 : 0);
    }
  }
  EXPECT_EQ(SampleBlocks(8000, sample)[1].offset, 333u * 8);
  EXPECT_EQ(SampleBlocks(80, {false, 1, 8, 2}).size(), 1u);
}

std::set<std::string> ReadNames(const io::Checkpoint& checkpoint, const EntropyPlan& plan) {
  std::set<std::string> names;
  for (const EntropyTensor& tensor : plan.tensors) {
    if (tensor.read) names.insert(checkpoint.tensor(tensor.index).name());
  }
  return names;
}

TEST(EntropyPlan, GroupsAK3CheckpointByLayer) {
  const auto checkpoint = *io::Checkpoint::Open(kTiny, nullptr);
  const EntropyPlan plan = PlanEntropy(*checkpoint, 9, {});
  ASSERT_EQ(plan.groups.size(), 12u);
  EXPECT_EQ(plan.groups[0].name, "embedding");
  EXPECT_EQ(plan.groups[1].name, "layer 0");
  EXPECT_EQ(plan.groups[9].name, "layer 8");
  EXPECT_EQ(plan.groups[9].layer, 8u);
  EXPECT_EQ(plan.groups[10].name, "head");
  EXPECT_EQ(plan.groups[11].name, "vectors");
  EXPECT_EQ(plan.groups[11].layer, std::nullopt);
  EXPECT_EQ(plan.tensors.size(), checkpoint->size());
  EXPECT_EQ(plan.experts, 32u);
  // 8 of 32 experts in 8 layers, 6 tensors each; everything else.
  EXPECT_EQ(ReadNames(*checkpoint, plan).size(), 8u * 8 * 6 + 234);
  for (const EntropyTensor& tensor : plan.tensors) {
    EXPECT_EQ(tensor.weight, tensor.kind == CensusKind::kExperts ? 4.0 : 1.0);
  }
  const EntropyPlan full = PlanEntropy(*checkpoint, 9, {true});
  EXPECT_EQ(ReadNames(*checkpoint, full).size(), 1770u);
  EXPECT_EQ(full.bytes, 7'245'216u);
  EXPECT_EQ(full.tensors[1000].weight, 1.0);
}

TEST(EntropyPlan, GroupsOtherNamesByTheirFirstNumber) {
  const io::ScratchDirectory scratch;
  std::vector<PlainTensor> tensors;
  for (const std::string name : {"m.10.a.w", "m.2.a.w", "m.2.b.0.w", "m.end.w", "head", "m.x3.w"}) {
    tensors.push_back({name, "F8_E4M3", "2", "ab"});
  }
  tensors.push_back({"m.2.empty", "BF16", "0", ""});
  tensors.push_back({"m.2.ids", "I64", "1", "12345678"});
  scratch.Write("a.safetensors", ShardOf(tensors));
  const auto checkpoint = *io::Checkpoint::Open(scratch.path(), nullptr);
  const EntropyPlan plan = PlanEntropy(*checkpoint, 0, {});
  std::vector<std::string> names;
  for (const EntropyGroup& group : plan.groups) names.push_back(group.name);
  EXPECT_EQ(names, (std::vector<std::string>{"head", "m.2", "m.10", "m.end", "m.x3"}));
  EXPECT_EQ(plan.bytes, 12u);
  EXPECT_EQ(ReadNames(*checkpoint, plan), (std::set<std::string>{"m.10.a.w", "m.2.a.w", "m.2.b.0.w",
                                                                 "m.end.w", "head", "m.x3.w"}));
  EXPECT_EQ(plan.experts, 0u);
}

TEST(EntropyPlan, SpreadsTheExpertsOfEachSet) {
  const io::ScratchDirectory scratch;
  std::vector<PlainTensor> tensors;
  for (int i = 0; i < 10; ++i) {
    tensors.push_back({fmt::format("l.0.experts.{}.w", i), "BF16", "1", "ab"});
  }
  for (int i = 0; i < 2; ++i) {
    tensors.push_back({fmt::format("l.1.experts.{}.w", i), "BF16", "1", "ab"});
  }
  tensors.push_back({"l.1.experts.gate", "BF16", "1", "ab"});
  scratch.Write("a.safetensors", ShardOf(tensors));
  const auto checkpoint = *io::Checkpoint::Open(scratch.path(), nullptr);
  EntropySample sample;
  sample.experts = 3;
  const EntropyPlan plan = PlanEntropy(*checkpoint, 0, sample);
  EXPECT_EQ(ReadNames(*checkpoint, plan),
            (std::set<std::string>{"l.0.experts.0.w", "l.0.experts.3.w", "l.0.experts.6.w",
                                   "l.1.experts.0.w", "l.1.experts.1.w", "l.1.experts.gate"}));
  for (const EntropyTensor& tensor : plan.tensors) {
    if (!tensor.read) continue;
    const bool many = checkpoint->tensor(tensor.index).name().starts_with("l.0.");
    EXPECT_NEAR(tensor.weight, many ? 10.0 / 3 : 1.0, 1e-12);
  }
}

}  // namespace
}  // namespace penstock::k3
