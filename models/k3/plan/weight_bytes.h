#pragma once

#include <cstdint>
#include <vector>

#include "io/file.h"
#include "models/k3/config/shape.h"
#include "models/k3/weights/catalogue.h"
#include "models/k3/weights/pass.h"
#include "runtime/result.h"
#include "runtime/size.h"

namespace penstock::k3 {

// One extent of the pass, as bytes.
struct PieceBytes {
  Role role = Role::kHead;
  uint32_t layer = 0;
  uint64_t payload = 0;  // As it is stored.
  uint64_t buffer = 0;   // What its read takes in memory: rounded out, a multiple of the alignment.
  uint64_t raw = 0;      // Its rows as bf16.
};

// All that planning needs to know of a checkpoint's weights. Of a checkpoint that is there, or of
// a shape alone: then in the order and with the extents that Pass::Build gives, and each read
// rounded out as far as an unlucky offset makes it.
struct WeightBytes {
  std::vector<PieceBytes> pieces;  // In order of use.
  std::vector<uint32_t>
      layer_first;            // [layers + 2] the first piece of a layer, of the head, the end.
  bool packed = false;        // The pieces are stripes of a pack.
  uint64_t alignment = 4096;  // Of the files.
  uint64_t vector_bytes = 0;  // Norms and small vectors of the layers, as stored;
  uint64_t final_vector_bytes = 0;  // those behind the last layer;
  uint64_t resident_bytes = 0;      // what all of them take in memory.
  uint64_t embed_row_bytes = 0;     // Of one token.
  uint64_t expert_bytes = 0;        // One routed expert, as stored,
  uint64_t slot_bytes = 0;          // and in the cache, each of its reads rounded out.
  uint64_t moe_layers = 0;
  uint64_t experts = 0;  // Of a layer.
  uint64_t top_k = 0;

  size_t layers() const { return layer_first.size() - 2; }
  uint64_t all_experts() const { return moe_layers * experts; }
  uint64_t chosen_experts() const { return moe_layers * top_k; }  // In one step.

  // What the read of an embedding row takes in memory, wherever in its file it begins.
  uint64_t EmbedRowBuffer() const { return RoundUp(embed_row_bytes + 2 * alignment, alignment); }
  uint64_t TrunkPayload() const;  // Of the pieces before the head.
  uint64_t HeadPayload() const;
};

WeightBytes MeasureWeights(const Catalogue& catalogue, const Shape& shape, const Pass& pass,
                           const io::FileSet& files);

// Of a shape alone, tensors cut into extents of `extent_bytes`. `pack_ratio`: stored bytes of a
// stripe over those of its rows, or 0 for a trunk that is not packed. Opens nothing. Refuses a shape
// of more than 2^22 extents.
Result<WeightBytes> AssumeWeights(const Shape& shape, uint64_t extent_bytes, double pack_ratio);

// The same weights in a pack whose stripes take `ratio` of the bytes of their rows.
WeightBytes PackedAs(WeightBytes weights, double ratio);

}  // namespace penstock::k3
