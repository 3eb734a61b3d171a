#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "io/pack/manifest.h"
#include "runtime/result.h"

namespace penstock::io {

// One chunk of a stripe, decodable alone.
struct StripeChunk {
  std::span<const std::byte> stored;  // kStripeSlack bytes behind it are readable.
  uint64_t first = 0;                 // Its first element in the stripe.
  uint64_t elements = 0;
  uint64_t stored_sum = 0;
  uint64_t raw_sum = 0;
};

// The chunks of a stripe, found in its bytes as they arrived. Nothing is believed before it is
// checked: Parse checks the sum of the front and then everything the front says, so that whatever
// the bytes are, the chunks of an accepted one lie inside of them; CheckChunk checks the chunk's own
// sum and the zeros behind it. Parse and CheckChunk of every chunk have looked at each stored byte.
// All errors are kUnsound: "stripes.bin, stripe 17 (..), offset 69632, chunk 3: expected .., got ..".
//
// Allocates nothing unless it fails. The bytes and the manifest must outlive it.
// Threads: const functions are re-entrant.
class StripeView {
 public:
  // `stored` is the stripe's stored_bytes, at any address.
  static Result<StripeView> Parse(std::span<const std::byte> stored, const PackManifest& manifest,
                                  size_t stripe);

  uint8_t codec() const { return head_.codec; }
  uint8_t element() const { return head_.element; }
  uint64_t elements() const { return head_.elements; }
  uint32_t chunk_elements() const { return head_.chunk_elements; }
  size_t chunks() const { return head_.chunks; }
  std::span<const std::byte> code() const;  // What the chunks share.

  StripeChunk chunk(size_t i) const;

  // The stored bytes of the chunk against their sum, and the zeros up to the next chunk (behind the
  // last: to the stripe's end). To be called just before it is decoded, which must wait for it.
  Status CheckChunk(size_t i) const;
  // Its decoded elements against their sum.
  Status CheckRaw(size_t i, std::span<const std::byte> raw) const;
  // An error that begins with the chunk's place, for what a decoder finds wrong.
  Error ChunkError(size_t i, std::string_view what) const;

 private:
  StripeView(std::span<const std::byte> stored, const PackManifest& manifest, size_t stripe)
      : stored_(stored), manifest_(&manifest), stripe_(stripe) {}

  ChunkEntry entry(size_t i) const;
  Status CheckFront();
  Status CheckHead() const;
  Status CheckTable() const;
  Error Bad(std::string_view what) const;

  std::span<const std::byte> stored_;
  const PackManifest* manifest_;
  size_t stripe_;
  StripeHead head_;
};

// Every stored byte of a stripe: front, chunks, and zeros. `padded` is its padded_bytes.
Status VerifyStripe(std::span<const std::byte> padded, const PackManifest& manifest, size_t stripe);
// The zeros behind it alone, for whoever decodes it and so checks the rest.
Status VerifyPadding(std::span<const std::byte> padded, const PackManifest& manifest,
                     size_t stripe);

}  // namespace penstock::io
