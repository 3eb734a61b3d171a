#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "io/pack.h"
#include "models/k3/weights/packed/stripe_reader.h"
#include "models/k3/weights/pass.h"
#include "ops/codec/choose.h"
#include "runtime/memory/region.h"
#include "runtime/result.h"

namespace penstock::k3 {

// Of the places of decoded rows in a ring.
inline constexpr size_t kDecodedAlignment = 4096;

// Decodes stripes of a pass, tile by tile, in a run. A tile is the TileRows of its product (the last one of a
// stripe may have fewer). Threads: one object is used by one thread at a time.
class StripeDecoder {
 public:
  // `tile`: memory for the largest tile of the pass, borrowed.
  StripeDecoder(const io::Pack& pack, const Pass& pass, const ops::CodecKernels& kernels,
                StripeCheck check, std::span<std::byte> tile);

  // Begins stripe `number`, whose stored bytes are `stored`, borrowed until the next Begin. kFailed
  // with file, stripe and offset when they are not what the pack's manifest says.
  Status Begin(uint32_t number, std::span<const std::byte> stored);

  size_t tiles() const { return reader_.view().chunks(); }

  // The rows of tile i as bf16, valid until the next call: decoded, or in place where they are stored
  // raw. kFailed as above when its sum differs or it does not decode.
  Result<std::span<const std::byte>> Tile(size_t i);

  // All rows of the stripe into `raw`, which has their size.
  Status DecodeAll(std::span<std::byte> raw, ops::Store store);

 private:
  const io::Pack& pack_;
  const Pass& pass_;
  const std::span<std::byte> tile_;
  StripeReader reader_;
};

// Time and bytes of all decoding since the start.
struct DecodeTraffic {
  uint64_t ns = 0;  // Summed over threads.
  uint64_t raw_bytes = 0;
};

// A decoder for each thread that may decode at the same time; allocated once.
class StripeDecoders {
 public:
  static Result<std::unique_ptr<StripeDecoders>> Create(const io::Pack& pack, const Pass& pass,
                                                        const ops::CodecKernels& kernels,
                                                        StripeCheck check, size_t threads);
  // Bytes that each thread takes.
  static size_t BytesEach(const Pass& pass);

  // A decoder for one thread, until it drops. The one that was used last comes first: its tile may
  // still be in a cache.
  class Lease {
   public:
    Lease(StripeDecoders& owner, StripeDecoder& decoder) : owner_(owner), decoder_(decoder) {}
    ~Lease() { owner_.Return(decoder_); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    StripeDecoder* operator->() { return &decoder_; }

   private:
    StripeDecoders& owner_;
    StripeDecoder& decoder_;
  };
  Lease Take();

  void Count(uint64_t ns, uint64_t raw_bytes) {
    ns_.fetch_add(ns, std::memory_order_relaxed);
    raw_bytes_.fetch_add(raw_bytes, std::memory_order_relaxed);
  }
  DecodeTraffic traffic() const { return {ns_.load(), raw_bytes_.load()}; }

 private:
  StripeDecoders() = default;
  void Return(StripeDecoder& decoder);

  HugeRegion tiles_;
  std::vector<std::unique_ptr<StripeDecoder>> decoders_;
  std::mutex mutex_;
  std::vector<StripeDecoder*> free_;
  std::atomic<uint64_t> ns_{0};
  std::atomic<uint64_t> raw_bytes_{0};
};

}  // namespace penstock::k3
