#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "models/k3/config/shape.h"
#include "models/k3/weights/catalogue.h"

namespace penstock::k3 {

// What a streamed matrix is for. The values are in no particular order; the order of use is the
// order of Pass::products.
enum class Role : uint8_t {
  kKdaQ,
  kKdaK,
  kKdaV,
  kKdaDecayA,
  kKdaDecayB,
  kKdaBeta,
  kKdaGateA,
  kKdaGate,  // Full rank, or the second matrix of the low-rank pair.
  kKdaOut,
  kMlaQA,
  kMlaKvA,
  kMlaQB,
  kMlaKvB,
  kMlaGate,
  kMlaOut,
  kDenseGate,
  kDenseUp,
  kDenseDown,
  kRouter,
  kLatentDown,
  kSharedGate,
  kSharedUp,
  kSharedDown,
  kLatentUp,
  kHead,
  kCount,
};
std::string_view RoleName(Role role);

inline constexpr uint32_t kNone = ~uint32_t{0};

// One matrix applied to its input once a step.
struct Product {
  Role role = Role::kHead;
  uint32_t layer = 0;  // Shape::layers for the head.
  Matrix matrix;
  uint32_t first_extent = 0;
  uint32_t extents = 0;
  uint32_t row_unit = 1;  // Rows that must stay together in one message.
};

// A row block of a matrix, as it is read, kept in the ring and met by its input.
struct PassExtent {
  uint32_t product = 0;
  uint32_t first_row = 0;
  uint32_t rows = 0;
  io::Extent extent;  // The rows as the checkpoint stores them, or the stripe that holds them.
};

// Rows that are coded together, one chunk of a stripe: eight at least, which the kernels take at a
// time, and about 128 KiB, so that a product finds a decoded tile in the second cache. Part of the
// format of packs: a stripe with other chunks is refused.
uint32_t TileRows(const Product& product);

// The weights of one step in order of use, the same for every step: what the weights side reads,
// for ever. The order is topological: the input of an extent depends on earlier extents (and
// experts) only, so that a ring of one largest extent can never deadlock.
class Pass {
 public:
  // Tensors larger than `extent_bytes` are cut into row blocks of about equal size.
  static Pass Build(const Catalogue& catalogue, const Shape& shape, size_t extent_bytes);

  const std::vector<Product>& products() const { return products_; }
  const std::vector<PassExtent>& extents() const { return extents_; }
  const Product& ProductOf(const PassExtent& extent) const { return products_[extent.product]; }

  // Bytes of an extent's rows as bf16, however they are stored.
  size_t RawBytes(uint32_t extent) const {
    return size_t{extents_[extent].rows} * ProductOf(extents_[extent]).matrix.cols * 2;
  }

  // The same pass over stripes: extent i is read from stripes[i] (their tags are kept).
  void ReadFrom(std::span<const io::Extent> stripes);
  bool packed() const { return packed_; }

  // The product of this role in this layer, or kNone.
  uint32_t Find(size_t layer, Role role) const { return index_[layer][static_cast<size_t>(role)]; }

  // Extents of the layers before `layer` (the head is layer Shape::layers).
  uint32_t FirstExtentOf(size_t layer) const { return layer_first_[layer]; }

 private:
  void Add(size_t layer, Role role, const Matrix& matrix, size_t row_unit, size_t extent_bytes);
  void AddAttention(size_t layer, const LayerTensors& tensors, const Shape& shape, size_t bytes);
  void AddMlp(size_t layer, const LayerTensors& tensors, size_t bytes);

  std::vector<Product> products_;
  std::vector<PassExtent> extents_;
  std::vector<std::array<uint32_t, static_cast<size_t>(Role::kCount)>> index_;
  std::vector<uint32_t> layer_first_;
  bool packed_ = false;
};

}  // namespace penstock::k3
