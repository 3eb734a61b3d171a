#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>

#include "io/pack.h"
#include "ops/codec/codec.h"

namespace penstock::k3 {

inline constexpr size_t kElementKinds = 6;  // Of ops::Element.

// The codec of each kind of element.
using CodecTable = std::array<ops::Codec, kElementKinds>;

// A stripe that coding makes less than a 32nd smaller is stored raw: the device gains nothing that
// decoding does not cost.
inline constexpr uint64_t kLeastGain = 32;

// Encodes stripes one after another. Threads: one at a time.
class StripeEncoder {
 public:
  explicit StripeEncoder(const CodecTable& codecs) : codecs_(codecs) {}

  // Whole elements, at least one. The result is valid until the next call, and `raw` must be as long.
  io::EncodedStripe Encode(ops::Element element, std::span<const std::byte> raw,
                           uint32_t chunk_elements);

 private:
  const CodecTable codecs_;
  std::array<std::unique_ptr<ops::ChunkEncoder>, kElementKinds> encoders_;
  io::StripeBuilder builder_;
};

}  // namespace penstock::k3
