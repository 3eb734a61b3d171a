#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "io/pack.h"
#include "ops/codec/codec.h"
#include "runtime/result.h"

namespace penstock::k3 {

// What is checked of a stripe besides its structure: the sums of its stored bytes, before they are
// decoded, or those of the decoded bytes as well.
enum class StripeCheck : uint8_t { kStored, kFull };

// Decodes stripes of any kind, chunk by chunk, and checks sums on the way. All errors are kUnsound
// and name file, stripe and chunk. Threads: one at a time.
class StripeReader {
 public:
  StripeReader(const io::PackManifest& manifest, const ops::CodecKernels& kernels,
               StripeCheck check)
      : manifest_(&manifest), check_(check), decoder_(kernels) {}

  // Begins stripe `number`, whose stored bytes are borrowed until the next Begin.
  Status Begin(size_t number, std::span<const std::byte> stored);
  const io::StripeView& view() const { return *view_; }

  size_t ChunkBytes(size_t i) const;  // Decoded.
  // Chunk i into `raw`, which has ChunkBytes.
  Status Decode(size_t i, std::span<std::byte> raw, ops::Store store);
  // Chunk i of a stripe that is stored raw, where it lies.
  Result<std::span<const std::byte>> InPlace(size_t i) const;
  // Every chunk; `raw` takes all elements of the stripe.
  Status DecodeAll(std::span<std::byte> raw, ops::Store store);

  // Everything at once, and the sum of the whole stripe too.
  Status DecodeWhole(size_t number, std::span<const std::byte> stored, std::span<std::byte> raw);

 private:
  Status CheckRaw(size_t i, std::span<const std::byte> raw) const;

  const io::PackManifest* manifest_;
  StripeCheck check_;
  ops::ChunkDecoder decoder_;
  std::optional<io::StripeView> view_;
  std::optional<size_t> coded_for_;  // The stripe whose code the decoder holds.
};

}  // namespace penstock::k3
