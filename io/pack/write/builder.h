#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "io/pack/layout.h"

namespace penstock::io {

// A stripe as it will be stored; its bytes belong to who made it.
struct EncodedStripe {
  uint8_t codec = kCodecRaw;
  uint8_t element = kElementBytes;
  uint64_t elements = 0;
  std::span<const std::byte> stored;
  uint64_t stored_sum = 0;  // Of the front.
  uint64_t raw_sum = 0;
};

// Lays out one stripe after another: front, chunks and zeros, with their sums. The chunks are
// encoded by the caller, in place:
//
//   builder.Begin(codec, element, raw, chunk_elements, code);
//   while (!builder.done()) {
//     const auto chunk = builder.raw();
//     builder.Commit(encoder.Encode(chunk, builder.Room(encoder.MostBytes(...))));
//   }
//   const EncodedStripe stripe = builder.Finish();
//
// The buffer grows to what the largest stripe needed and is kept; who knows how much that is says
// Reserve(MostBytes(...)) first, and nothing is copied while it grows.
// Threads: one object is used by one thread at a time.
class StripeBuilder {
 public:
  // The most stored bytes of a stripe whose chunks take at most `most_chunk_bytes` each.
  static uint64_t MostBytes(uint64_t elements, uint32_t chunk_elements, uint64_t code_bytes,
                            uint64_t most_chunk_bytes);

  void Reserve(size_t bytes);

  // `raw` is the stripe's elements, 1 to kMaxStripeRawBytes, and must stay until Finish. `code` is
  // copied.
  void Begin(uint8_t codec, uint8_t element, std::span<const std::byte> raw,
             uint32_t chunk_elements, std::span<const std::byte> code);

  bool done() const { return chunk_ == head_.chunks; }
  std::span<const std::byte> raw() const;  // The elements of the next chunk.
  // Where to put the stored bytes of the next chunk; valid until the next call.
  std::span<std::byte> Room(size_t bytes);
  // The next chunk is the first `stored_bytes` of the room, which had as many.
  void Commit(size_t stored_bytes);

  // The stripe, valid until the next Begin. Not before done().
  EncodedStripe Finish();

  // All of it for the codec raw.
  EncodedStripe BuildRaw(uint8_t element, std::span<const std::byte> raw, uint32_t chunk_elements);

 private:
  StripeHead head_;
  std::span<const std::byte> raw_;
  std::vector<std::byte> bytes_;
  size_t at_ = 0;    // Where the next chunk begins.
  size_t room_ = 0;  // Of the last Room.
  uint32_t chunk_ = 0;
};

}  // namespace penstock::io
