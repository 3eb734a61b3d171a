#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/k3/bench/codec/coders.h"
#include "models/k3/bench/codec/weights.h"
#include "runtime/result.h"

namespace penstock::k3 {

// A chunk of weights as it is stored.
struct PackedChunk {
  std::span<const std::byte> stored;   // With ops::kCodecSlack readable bytes behind it.
  std::span<const std::byte> weights;  // What it was made of.
  uint64_t sum = 0;                    // XXH3-64 of `stored`.
  uint32_t stripe = 0;
};

// Weights as a codec stores them: the chunks one behind the other, each at a multiple of 64 bytes.
// Refers to the weights, which must outlive it.
struct Packed {
  HugeRegion memory;
  std::vector<PackedChunk> chunks;
  std::vector<std::vector<std::byte>> codes;  // [stripe]
  size_t stored_bytes = 0;                    // With the codes and what aligns the chunks.
  size_t weight_bytes = 0;

  double ratio() const {
    return static_cast<double>(stored_bytes) / static_cast<double>(weight_bytes);
  }
};

// Encodes the first `stripes` stripes in chunks of so many elements. Fills `out` anew, in the memory
// that it has from an earlier call with the same arguments, or maps it: that costs address space for
// the worst case, and resident pages for what is stored.
Status Pack(const Weights& weights, size_t stripes, size_t chunk_elements, Coder& coder,
            Packed& out);

}  // namespace penstock::k3
