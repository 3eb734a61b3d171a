#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/safetensors/dtype.h"
#include "models/k3/config/shape.h"
#include "models/k3/synth/routes.h"
#include "models/k3/synth/values.h"

namespace penstock::k3 {

// One tensor to be written.
struct SynthTensor {
  std::string name;
  io::Dtype dtype = io::Dtype::kBF16;
  std::vector<uint64_t> dims;
  Recipe recipe;

  uint64_t bytes() const {
    uint64_t out = io::DtypeBytes(dtype);
    for (const uint64_t dim : dims) out *= dim;
    return out;
  }
};

// How the values are distributed.
struct SynthStyle {
  bool trained = false;               // Matrices as Recipe::kTrained, not as kNormal.
  std::optional<RouteDesign> routes;  // Nothing: routes as they come.
};

// Which tensors a checkpoint of `shape` has, shard by shard and in the order of the release.
class SynthLayout {
 public:
  SynthLayout(const Shape& shape, std::string prefix, bool a_log_padding, SynthStyle style = {})
      : shape_(shape),
        prefix_(std::move(prefix)),
        a_log_padding_(a_log_padding),
        style_(std::move(style)) {}

  size_t shards() const { return shape_.layers + 1; }
  std::string FileName(size_t shard) const;
  // Shard i < layers is layer i, the last one holds embedding, head and final norms.
  std::vector<SynthTensor> Shard(size_t shard) const;

 private:
  const Shape& shape_;
  std::string prefix_;
  bool a_log_padding_;
  SynthStyle style_;
};

}  // namespace penstock::k3
