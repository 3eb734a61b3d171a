#include "models/k3/weights/pass.h"

#include <algorithm>

#include "ops/attention.h"
#include "runtime/check.h"

namespace penstock::k3 {

std::string_view RoleName(Role role) {
  static constexpr std::array<std::string_view, static_cast<size_t>(Role::kCount)> kNames = {
      "kda.q",       "kda.k",      "kda.v",       "kda.decay_a",   "kda.decay_b",
      "kda.beta",    "kda.gate_a", "kda.gate",    "kda.out",       "mla.q_a",
      "mla.kv_a",    "mla.q_b",    "mla.kv_b",    "mla.gate",      "mla.out",
      "dense.gate",  "dense.up",   "dense.down",  "moe.router",    "moe.latent_down",
      "shared.gate", "shared.up",  "shared.down", "moe.latent_up", "head"};
  return kNames[static_cast<size_t>(role)];
}

uint32_t TileRows(const Product& product) {
  constexpr uint32_t kTileElements = 64 * 1024;
  if (product.row_unit > 1) return product.row_unit;
  return std::max<uint32_t>(8, kTileElements / product.matrix.cols / 8 * 8);
}

void Pass::Add(size_t layer, Role role, const Matrix& matrix, size_t row_unit,
               size_t extent_bytes) {
  if (matrix.rows == 0) return;
  const size_t row_bytes = size_t{matrix.cols} * 2;
  const size_t units = (matrix.rows + row_unit - 1) / row_unit;
  const size_t most_units = std::max<size_t>(1, extent_bytes / (row_bytes * row_unit));
  const size_t pieces = (units + most_units - 1) / most_units;
  const size_t rows_each = (units + pieces - 1) / pieces * row_unit;

  Product product{role,   static_cast<uint32_t>(layer),
                  matrix, static_cast<uint32_t>(extents_.size()),
                  0,      static_cast<uint32_t>(row_unit)};
  for (size_t row = 0; row < matrix.rows; row += rows_each) {
    const size_t rows = std::min<size_t>(rows_each, matrix.rows - row);
    extents_.push_back({static_cast<uint32_t>(products_.size()),
                        static_cast<uint32_t>(row),
                        static_cast<uint32_t>(rows),
                        {matrix.extent.file, matrix.extent.offset + row * row_bytes,
                         rows * row_bytes, static_cast<uint32_t>(layer)}});
    ++product.extents;
  }
  index_[layer][static_cast<size_t>(role)] = static_cast<uint32_t>(products_.size());
  products_.push_back(product);
}

void Pass::AddAttention(size_t layer, const LayerTensors& tensors, const Shape& shape,
                        size_t bytes) {
  if (tensors.kda) {
    const KdaTensors& kda = *tensors.kda;
    Add(layer, Role::kKdaDecayA, kda.f_a, 1, bytes);  // First: its product feeds another one.
    Add(layer, Role::kKdaGateA, kda.g_a, 1, bytes);
    Add(layer, Role::kKdaBeta, kda.b, 1, bytes);
    Add(layer, Role::kKdaQ, kda.q, 1, bytes);
    Add(layer, Role::kKdaK, kda.k, 1, bytes);
    Add(layer, Role::kKdaV, kda.v, 1, bytes);
    Add(layer, Role::kKdaDecayB, kda.f_b, 1, bytes);
    Add(layer, Role::kKdaGate, kda.g.rows != 0 ? kda.g : kda.g_b, 1, bytes);
    Add(layer, Role::kKdaOut, kda.o, 1, bytes);
    return;
  }
  const MlaTensors& mla = *tensors.mla;
  Add(layer, Role::kMlaQA, mla.q_a, 1, bytes);
  Add(layer, Role::kMlaKvA, mla.kv_a, 1, bytes);
  Add(layer, Role::kMlaQB, mla.q_b, 1, bytes);
  Add(layer, Role::kMlaGate, mla.g, 1, bytes);
  Add(layer, Role::kMlaKvB, mla.kv_b, ops::kHeadGroup * (shape.nope + shape.value), bytes);
  Add(layer, Role::kMlaOut, mla.o, 1, bytes);
}

void Pass::AddMlp(size_t layer, const LayerTensors& tensors, size_t bytes) {
  if (tensors.dense) {
    Add(layer, Role::kDenseGate, tensors.dense->gate, 1, bytes);
    Add(layer, Role::kDenseUp, tensors.dense->up, 1, bytes);
    Add(layer, Role::kDenseDown, tensors.dense->down, 1, bytes);
    return;
  }
  const MoeTensors& moe = *tensors.moe;
  Add(layer, Role::kRouter, moe.router, 1, bytes);  // First: experts can be asked for soonest.
  Add(layer, Role::kLatentDown, moe.latent_down, 1, bytes);
  Add(layer, Role::kSharedGate, moe.shared.gate, 1, bytes);
  Add(layer, Role::kSharedUp, moe.shared.up, 1, bytes);
  Add(layer, Role::kSharedDown, moe.shared.down, 1, bytes);
  Add(layer, Role::kLatentUp, moe.latent_up, 1, bytes);
}

void Pass::ReadFrom(std::span<const io::Extent> stripes) {
  PENSTOCK_CHECK(stripes.size() == extents_.size());
  for (size_t i = 0; i < stripes.size(); ++i) {
    const uint32_t tag = extents_[i].extent.tag;
    extents_[i].extent = stripes[i];
    extents_[i].extent.tag = tag;
  }
  packed_ = true;
}

Pass Pass::Build(const Catalogue& catalogue, const Shape& shape, size_t extent_bytes) {
  Pass pass;
  pass.index_.resize(shape.layers + 1);
  for (auto& roles : pass.index_) roles.fill(kNone);
  for (size_t layer = 0; layer < shape.layers; ++layer) {
    pass.layer_first_.push_back(static_cast<uint32_t>(pass.extents_.size()));
    pass.AddAttention(layer, catalogue.layer(layer), shape, extent_bytes);
    pass.AddMlp(layer, catalogue.layer(layer), extent_bytes);
  }
  pass.layer_first_.push_back(static_cast<uint32_t>(pass.extents_.size()));
  pass.Add(shape.layers, Role::kHead, catalogue.head, 1, extent_bytes);
  pass.layer_first_.push_back(static_cast<uint32_t>(pass.extents_.size()));
  return pass;
}

}  // namespace penstock::k3
