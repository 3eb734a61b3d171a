#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/codec/codec.h"

namespace penstock::k3 {

// Elements of a chunk in the census: chunks of a pack are of this order.
inline constexpr size_t kCensusChunk = size_t{64} << 10;

// Bytes that `codec` makes of whole elements as one stripe: its code and its chunks, without the
// frame of a pack. A CodedSize (entropy.h).
uint64_t CodedBytes(ops::Codec codec, ops::Element element, std::span<const std::byte> raw);

}  // namespace penstock::k3
