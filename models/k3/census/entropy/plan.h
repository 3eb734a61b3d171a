#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/checkpoint.h"
#include "models/k3/census/place.h"

namespace penstock::k3 {

// How much is looked at. The same tensors and bytes on every run.
struct EntropySample {
  bool full = false;  // All of every tensor; the codecs still get the sample alone.
  uint64_t blocks = 16;
  uint64_t block_bytes = uint64_t{64} << 10;  // A multiple of 4.
  uint64_t experts = 8;                       // Of each set of experts, evenly spread.
};

// The bytes of a tensor that belong to the sample, in order, relative to its start: all of it when
// the blocks cover it, else blocks evenly spread from the first to the last whole one.
struct SampleBlock {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};
std::vector<SampleBlock> SampleBlocks(uint64_t tensor_bytes, const EntropySample& sample);

// Tensors that are summed up together: a layer of a K3 checkpoint, or one of its ends; elsewhere
// names that agree up to their first number, or up to their last component.
struct EntropyGroup {
  std::string name;             // "layer 3", "head", "model.layers.3"
  std::optional<size_t> layer;  // Of a K3 checkpoint.
};

struct EntropyTensor {
  size_t index = 0;  // In the checkpoint.
  size_t group = 0;
  CensusKind kind = CensusKind::kOther;
  bool read = false;
  double weight = 0;  // Elements it stands for, over its own: above 1 where experts were left out.
};

struct EntropyPlan {
  std::vector<EntropyGroup> groups;    // Embedding, layers in order, head, vectors, the rest.
  std::vector<EntropyTensor> tensors;  // In the order of groups, then of the checkpoint.
  uint64_t bytes = 0;                  // That will be read.
  uint64_t experts = 0;                // Of the largest set of experts; 0 without any.
};

// `layers` of the K3 checkpoint; 0 for any other.
EntropyPlan PlanEntropy(const io::Checkpoint& checkpoint, size_t layers,
                        const EntropySample& sample);

}  // namespace penstock::k3
