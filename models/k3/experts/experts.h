#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <unordered_map>
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

// What became of predicted experts.
struct Ahead {
  uint64_t issued = 0;   // Reads asked for.
  uint64_t useful = 0;   // Demanded in the end,
  uint64_t joined = 0;   // these of them while their read was under way;
  uint64_t dropped = 0;  // taken back before anything was read;
  uint64_t wasted = 0;   // read for nothing.
  uint64_t useful_bytes = 0;
  uint64_t wasted_bytes = 0;

  void Add(const Ahead& more);
};

// The routed experts: found in the cache, read on demand or, where somebody names them early, ahead
// of it; whole experts at a time.
//
// Invariants:
//  1. Demand succeeds whenever fewer than demand_slots() experts are held by demands: a Credit of as
//     many stands in front of it, and each hold that ends returns one through OnRelease. Predictions
//     hold no more than the other slots.
//  2. An expert that could not be read is an error, never zeros; its slot is free again. A prediction
//     that could not be read is nobody's error: whoever demands it reads it anew.
//  3. Adjacent tensors of an expert are read as one extent; the release stores all six adjacent.
//  4. An expert is read by one at a time: a demand for one that is being read ahead joins that read
//     and raises its class.
// A prediction belongs to a visit, a layer of a step, by a number that grows. Settle ends visits: what
// was predicted for them and is not wanted is dropped when it waits, and left to the cache when it has
// come or is on its way. All holds of predictions end so; none needs another step to run.
// Threads: any.
class Experts {
 public:
  // Demands come layer by layer, for ever. On recorded and made-up routes this policy was at or near
  // the best of the others at every cache size (`penstock replay`).
  static constexpr std::string_view kDefaultPolicy = "round";

  using Arrived = std::function<void(Result<ExpertWeights>)>;

  // `memory` holds slots * SlotBytes and is borrowed; `ahead_slots` of them may be held by
  // predictions. `policy`: of the cache, a name of io/cache/eviction/policies.h.
  Experts(const Catalogue& catalogue, const Shape& shape, io::Reader& reader, std::byte* memory,
          size_t slot_bytes, size_t slots, size_t ahead_slots = 0,
          std::string_view policy = kDefaultPolicy);
  ~Experts();

  // Bytes of the largest expert with each of its reads rounded out; a multiple of `alignment`.
  static size_t SlotBytes(const Catalogue& catalogue, const Shape& shape,
                          const std::function<size_t(const io::Extent&)>& rounded,
                          size_t alignment);

  // Calls `arrived` once: now when the cache has the expert, else on an I/O thread.
  void Demand(size_t layer, size_t expert, Arrived arrived);

  // Reads an expert of `layer` that `visit` may demand, behind everything else that waits for the
  // device. False when nothing was asked for: it is here or on its way, no slot is left for it, or the
  // visit is settled.
  bool Predict(uint64_t visit, size_t layer, size_t expert);

  // The choice of `visit` is known: of the predictions for it and for those before it, those in
  // `chosen` of `layer` wait for their demand, the others are dropped.
  void Settle(uint64_t visit, size_t layer, std::span<const uint32_t> chosen);
  // Drops all predictions, of visits up to this one: the step is over.
  void SettleAll(uint64_t visit) { Settle(visit, 0, {}); }

  // In the cache now. Nobody has asked for it.
  bool IsHere(size_t layer, size_t expert) const;

  // Called once for each Demand, when what it held is dropped. Set before the first Demand.
  void OnRelease(std::function<void()> on_release) { cache_.OnRelease(std::move(on_release)); }

  size_t slots() const { return cache_.slots(); }
  uint64_t expert_bytes() const { return expert_bytes_; }  // Payload of one.
  size_t ahead_slots() const { return ahead_slots_; }
  size_t demand_slots() const { return cache_.slots() - ahead_slots_; }
  size_t held() const { return cache_.held(); }
  size_t predicted() const;  // Held by predictions now.
  uint64_t hits() const { return hits_.load(); }
  // Demanded and not in the cache by itself: read on demand, or ahead of it.
  uint64_t misses() const { return misses_.load(); }
  Traffic traffic() const;  // Since the start: misses, and what was read for nothing.
  Ahead ahead(size_t layer) const;
  Ahead ahead() const;             // Of all layers.
  uint64_t pending_bytes() const;  // Predictions of which it is not known what becomes of them.
  double service_seconds()
      const;  // Of one expert, measured while only experts were read; 0 at first.

 private:
  struct Fetch;
  using FetchRef = std::shared_ptr<Fetch>;
  using Key = io::BlockCache::Key;

  FetchRef MakeFetch(Key key, io::BlockCache::Reserved reserved) const;
  void Read(Key key, Arrived arrived);
  void Start(const FetchRef& fetch, io::ReadClass read_class);
  void Keep(Fetch& fetch, const io::Extent& run, Result<BufferRef> result);
  void Finish(const FetchRef& fetch);
  void FinishAhead(const FetchRef& fetch);
  void Deliver(const FetchRef& fetch, const Arrived& arrived);
  void End(const FetchRef& fetch, bool useful);
  void DeviceBegins();
  void DeviceEnds(uint64_t experts);
  Traffic CostOf(const Fetch& fetch) const;
  void Count(const Traffic& traffic);

  const Catalogue& catalogue_;
  const size_t experts_;
  io::Reader& reader_;
  io::BlockCache cache_;
  const size_t ahead_slots_;
  uint64_t expert_bytes_ = 0;
  std::vector<ExpertView> views_;  // [slots] where the tensors of a ready block lie.
  std::atomic<uint64_t> hits_{0};
  std::atomic<uint64_t> misses_{0};
  std::atomic<uint64_t> payload_{0};
  std::atomic<uint64_t> device_{0};
  std::atomic<uint64_t> reads_{0};

  mutable std::mutex mutex_;                     // Never held while a callback runs.
  std::unordered_map<Key, FetchRef> predicted_;  // On their way, or come and not yet demanded.
  size_t holds_ = 0;                             // Slots that predictions hold.
  uint64_t settled_ = 0;                         // The last visit whose choice is known.
  uint64_t pending_bytes_ = 0;
  std::vector<Ahead> ahead_;  // [layers]

  mutable std::mutex clock_mutex_;
  size_t reading_ = 0;  // Experts.
  uint64_t reading_since_ns_ = 0;
  double busy_seconds_ = 0;  // Both fade.
  double busy_experts_ = 0;
};

}  // namespace penstock::k3
