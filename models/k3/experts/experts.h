#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "io/cache/block_cache.h"
#include "io/reader.h"
#include "models/k3/config/shape.h"
#include "models/k3/experts/expert_view.h"
#include "models/k3/weights/catalogue.h"
#include "models/k3/weights/traffic.h"

namespace penstock::k3 {

// A routed expert in memory. Holding it keeps its cache slot; drop it as soon as the product is
// done.
struct ExpertWeights {
  ExpertView view;
  std::shared_ptr<void> pin;
};

// The routed experts: found in the cache or read on demand, whole experts at a time.
//
// Invariants:
//  1. Demand succeeds whenever fewer experts are held than the cache has slots: a Credit of as many
//     as there are slots stands in front of it, and each hold that ends returns one through
//     OnRelease.
//  2. An expert that could not be read is an error, never zeros; its slot is free again.
//  3. Adjacent tensors of an expert are read as one extent; the release stores all six adjacent.
// Threads: Demand and the counters from any.
class Experts {
 public:
  // Demands come layer by layer, for ever. On recorded and made-up routes this policy was at or above
  // the best of the others at every cache size (`penstock replay`).
  static constexpr std::string_view kDefaultPolicy = "round";
  using Arrived = std::function<void(Result<ExpertWeights>)>;

  // `memory` holds slots * SlotBytes and is borrowed. `policy`: of the cache, a name of
  // io/cache/eviction/policies.h.
  Experts(const Catalogue& catalogue, const Shape& shape, io::Reader& reader, std::byte* memory,
          size_t slot_bytes, size_t slots, std::string_view policy = kDefaultPolicy);

  // Bytes of the largest expert with each of its reads rounded out; a multiple of `alignment`.
  static size_t SlotBytes(const Catalogue& catalogue, const Shape& shape,
                          const std::function<size_t(const io::Extent&)>& rounded,
                          size_t alignment);

  // Calls `arrived` once: now when the cache has the expert, else on an I/O thread.
  void Demand(size_t layer, size_t expert, Arrived arrived);

  // Called once for each Demand, when what it held is dropped. Set before the first Demand.
  void OnRelease(std::function<void()> on_release) { cache_.OnRelease(std::move(on_release)); }

  size_t slots() const { return cache_.slots(); }
  uint64_t hits() const { return hits_.load(); }
  uint64_t misses() const { return misses_.load(); }
  Traffic traffic() const;  // Since the start.

 private:
  struct Fetch;
  void Keep(Fetch& fetch, const io::Extent& run, Result<BufferRef> result);
  void Finish(const std::shared_ptr<Fetch>& fetch);

  const Catalogue& catalogue_;
  const size_t experts_;
  io::Reader& reader_;
  io::BlockCache cache_;
  std::vector<ExpertView> views_;  // [slots] where the tensors of a ready block lie.
  std::atomic<uint64_t> hits_{0};
  std::atomic<uint64_t> misses_{0};
  std::atomic<uint64_t> payload_{0};
  std::atomic<uint64_t> device_{0};
  std::atomic<uint64_t> reads_{0};
};

}  // namespace penstock::k3
