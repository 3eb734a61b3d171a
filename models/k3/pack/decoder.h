#pragma once

#include <span>

#include "io/pack.h"
#include "ops/codec/codec.h"
#include "runtime/result.h"

namespace penstock::k3 {

// Decodes whole stripes of any kind and checks every sum on the way. Threads: one at a time.
class StripeReader {
 public:
  StripeReader(const io::PackManifest& manifest, const ops::CodecKernels& kernels)
      : manifest_(&manifest), decoder_(kernels) {}

  // `stored` is stripe i as it is stored; `raw` takes its elements. kUnsound names file, stripe and
  // chunk.
  Status Decode(std::span<const std::byte> stored, size_t i, std::span<std::byte> raw);

 private:
  const io::PackManifest* manifest_;
  ops::ChunkDecoder decoder_;
};

}  // namespace penstock::k3
