#include "models/k3/experts/experts.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "io/cache/eviction/policies.h"
#include "models/k3/experts/expert_reads.h"
#include "runtime/check.h"
#include "runtime/size.h"

namespace penstock::k3 {
namespace {

constexpr size_t kTensors = kExpertTensors;
using Pointers = std::array<const uint8_t*, kTensors>;

ExpertView ViewOf(const Pointers& p) { return {p[0], p[1], p[2], p[3], p[4], p[5]}; }

std::unique_ptr<io::EvictionPolicy> PolicyFor(const Shape& shape, size_t slots,
                                              std::string_view name) {
  size_t moe_layers = 0;
  for (size_t layer = 0; layer < shape.layers; ++layer) moe_layers += shape.IsMoe(layer) ? 1 : 0;
  auto policy =
      io::MakePolicy(name, {slots, shape.layers * shape.experts, moe_layers * shape.top_k});
  PENSTOCK_CHECK(policy != nullptr);
  return policy;
}

}  // namespace

// One expert on its way. Shared by its reads; the last one to arrive finishes it.
struct Experts::Fetch {
  io::BlockCache::Key key = 0;
  io::BlockCache::Slot slot = 0;
  std::array<io::Extent, kTensors> tensors;
  Arrived arrived;
  std::atomic<size_t> reads_left{0};
  std::mutex mutex;
  Pointers pointers{};
  MutableBuffer place;  // What is left of the slot: keeps it held until the fetch is finished.
  std::optional<Error> error;
};

Experts::Experts(const Catalogue& catalogue, const Shape& shape, io::Reader& reader,
                 std::byte* memory, size_t slot_bytes, size_t slots, std::string_view policy)
    : catalogue_(catalogue),
      experts_(shape.experts),
      reader_(reader),
      cache_(memory, slot_bytes, slots, PolicyFor(shape, slots, policy)),
      views_(slots) {}

size_t Experts::SlotBytes(const Catalogue& catalogue, const Shape& shape,
                          const std::function<size_t(const io::Extent&)>& rounded,
                          size_t alignment) {
  size_t most = 0;
  for (size_t layer = 0; layer < shape.layers; ++layer) {
    if (!shape.IsMoe(layer)) continue;
    for (size_t expert = 0; expert < shape.experts; ++expert) {
      size_t bytes = 0;
      for (const io::Extent& read : ReadsOf(catalogue.expert(layer, expert)).span()) {
        bytes += RoundUp(rounded(read), alignment);
      }
      most = std::max(most, bytes);
    }
  }
  return most;
}

void Experts::Demand(size_t layer, size_t expert, Arrived arrived) {
  const io::BlockCache::Key key = layer * experts_ + expert;
  if (auto held = cache_.Find(key)) {
    hits_.fetch_add(1, std::memory_order_relaxed);
    return arrived(ExpertWeights{views_[held->slot], held->block.owner()});
  }
  misses_.fetch_add(1, std::memory_order_relaxed);
  auto reserved = cache_.Reserve(key);
  PENSTOCK_CHECK(reserved.has_value());  // Invariant 1.

  const ExpertTensors tensors = catalogue_.expert(layer, expert);
  const ExpertReads reads = ReadsOf(tensors);
  auto fetch = std::make_shared<Fetch>();
  fetch->key = key;
  fetch->slot = reserved->slot;
  fetch->tensors = TensorsOf(tensors);
  fetch->arrived = std::move(arrived);
  fetch->reads_left = reads.count;
  fetch->place = std::move(reserved->block);
  for (io::Extent run : reads.span()) {
    run.tag = static_cast<uint32_t>(layer);
    const size_t bytes = reader_.BufferBytes(run);
    payload_.fetch_add(run.bytes, std::memory_order_relaxed);
    device_.fetch_add(bytes, std::memory_order_relaxed);
    reads_.fetch_add(1, std::memory_order_relaxed);
    MutableBuffer place = fetch->place.TakeFront(RoundUp(bytes, reader_.Alignment()));
    reader_.Read(run, place.TakeFront(bytes), io::ReadClass::kDemanded,
                 [this, fetch, extent = run](Result<BufferRef> result) {
                   Keep(*fetch, extent, std::move(result));
                   if (fetch->reads_left.fetch_sub(1) == 1) Finish(fetch);
                 });
  }
}

// Notes where the tensors of one read lie. No reference to the slot outlives this call.
void Experts::Keep(Fetch& fetch, const io::Extent& run, Result<BufferRef> result) {
  const std::lock_guard lock(fetch.mutex);
  if (!result) {
    if (!fetch.error) fetch.error = std::move(result).error();
    return;
  }
  for (size_t t = 0; t < kTensors; ++t) {
    const io::Extent& tensor = fetch.tensors[t];
    if (tensor.file != run.file || tensor.offset < run.offset) continue;
    if (tensor.offset + tensor.bytes > run.offset + run.bytes) continue;
    fetch.pointers[t] =
        reinterpret_cast<const uint8_t*>(result->data()) + (tensor.offset - run.offset);
  }
}

void Experts::Finish(const std::shared_ptr<Fetch>& fetch) {
  if (fetch->error) {
    cache_.Discard(fetch->key, fetch->slot);
    fetch->place = MutableBuffer();
    fetch->error->where =
        fmt::format("layer {}, expert {}", fetch->key / experts_, fetch->key % experts_);
    return fetch->arrived(std::move(*fetch->error));
  }
  const ExpertView view = ViewOf(fetch->pointers);
  views_[fetch->slot] = view;
  cache_.Publish(fetch->key, fetch->slot);
  ExpertWeights weights{view, fetch->place.owner()};
  fetch->place = MutableBuffer();  // From here on the receiver's reference is the only one.
  fetch->arrived(std::move(weights));
}

Traffic Experts::traffic() const { return {payload_.load(), device_.load(), reads_.load()}; }

}  // namespace penstock::k3
