#include "models/k3/experts/experts.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "io/cache/eviction/policies.h"
#include "models/k3/experts/expert_reads.h"
#include "runtime/check.h"
#include "runtime/measure/clock.h"
#include "runtime/size.h"

namespace penstock::k3 {
namespace {

constexpr size_t kTensors = kExpertTensors;
using Pointers = std::array<const uint8_t*, kTensors>;

ExpertView ViewOf(const Pointers& p) { return {p[0], p[1], p[2], p[3], p[4], p[5]}; }

std::unique_ptr<io::EvictionPolicy> PolicyFor(const Shape& shape, size_t slots,
                                              std::string_view name) {
  auto policy =
      io::MakePolicy(name, {slots, shape.layers * shape.experts, shape.moe_layers() * shape.top_k});
  PENSTOCK_CHECK(policy != nullptr);
  return policy;
}

}  // namespace

// One expert on its way. Shared by its reads; the last one to arrive finishes it.
struct Experts::Fetch {
  Key key = 0;
  io::BlockCache::Slot slot = 0;
  std::array<io::Extent, kTensors> tensors;
  ExpertReads wanted;
  Arrived arrived;
  std::atomic<size_t> reads_left{0};
  std::mutex mutex;
  Pointers pointers{};
  std::array<bool, kTensors> cancelled{};  // [wanted] nothing of it was read.
  MutableBuffer place;  // What is left of the slot: keeps it held until the fetch is finished.
  std::optional<Error> error;

  // Of a prediction, guarded by Experts::mutex_.
  bool ahead = false;
  uint64_t visit = 0;
  std::array<io::ReadId, kTensors> ids{};
  size_t id_count = 0;
  bool demanded = false;  // `arrived` is set.
  bool unwanted = false;  // Its visit has passed without it.
  bool ready = false;     // It has come and waits for its demand.
};

void Ahead::Add(const Ahead& more) {
  issued += more.issued;
  useful += more.useful;
  joined += more.joined;
  dropped += more.dropped;
  wasted += more.wasted;
  useful_bytes += more.useful_bytes;
  wasted_bytes += more.wasted_bytes;
}

Experts::Experts(const Catalogue& catalogue, const Shape& shape, io::Reader& reader,
                 std::byte* memory, size_t slot_bytes, size_t slots, size_t ahead_slots,
                 std::string_view policy)
    : catalogue_(catalogue),
      experts_(shape.experts),
      reader_(reader),
      cache_(memory, slot_bytes, slots, PolicyFor(shape, slots, policy)),
      ahead_slots_(ahead_slots),
      views_(slots),
      ahead_(shape.layers) {
  PENSTOCK_CHECK(ahead_slots < std::max<size_t>(slots, 1));
  for (size_t layer = 0; layer < shape.layers && expert_bytes_ == 0; ++layer) {
    if (!shape.IsMoe(layer)) continue;
    for (const io::Extent& tensor : TensorsOf(catalogue.expert(layer, 0))) {
      expert_bytes_ += tensor.bytes;
    }
  }
}

Experts::~Experts() { SettleAll(~uint64_t{0}); }

size_t Experts::SlotBytes(const Catalogue& catalogue, const Shape& shape,
                          const std::function<size_t(const io::Extent&)>& rounded,
                          size_t alignment) {
  size_t most = 0;
  for (size_t layer = 0; layer < shape.layers; ++layer) {
    if (!shape.IsMoe(layer)) continue;
    for (size_t expert = 0; expert < shape.experts; ++expert) {
      size_t bytes = 0;
      for (const io::Extent& read : ReadsOf(catalogue.expert(layer, expert))) {
        bytes += RoundUp(rounded(read), alignment);
      }
      most = std::max(most, bytes);
    }
  }
  return most;
}

// --- demands ---

void Experts::Demand(size_t layer, size_t expert, Arrived arrived) {
  const Key key = layer * experts_ + expert;
  std::unique_lock lock(mutex_);
  const auto found = predicted_.find(key);
  if (found == predicted_.end()) {
    lock.unlock();
    // What was read ahead and let go is in the cache by now: it is published first.
    if (auto held = cache_.Find(key)) {
      hits_.fetch_add(1, std::memory_order_relaxed);
      return arrived(ExpertWeights{views_[held->slot], held->block.owner()});
    }
    misses_.fetch_add(1, std::memory_order_relaxed);
    return Read(key, std::move(arrived));
  }
  const FetchRef fetch = found->second;
  PENSTOCK_CHECK(!fetch->demanded);
  misses_.fetch_add(1, std::memory_order_relaxed);
  if (fetch->ready) {
    predicted_.erase(found);
    lock.unlock();
    return Deliver(fetch, arrived);
  }
  fetch->arrived = std::move(arrived);
  fetch->demanded = true;
  ++ahead_[layer].joined;
  const auto ids = fetch->ids;
  const size_t count = fetch->id_count;
  lock.unlock();
  for (size_t i = 0; i < count; ++i) reader_.Raise(ids[i], io::ReadClass::kDemanded);
}

Experts::FetchRef Experts::MakeFetch(Key key, io::BlockCache::Reserved reserved) const {
  const ExpertTensors tensors = catalogue_.expert(key / experts_, key % experts_);
  auto fetch = std::make_shared<Fetch>();
  fetch->key = key;
  fetch->slot = reserved.slot;
  fetch->tensors = TensorsOf(tensors);
  fetch->wanted = ReadsOf(tensors);
  for (size_t i = 0; i < fetch->wanted.count; ++i) {
    fetch->wanted.extents[i].tag = static_cast<uint32_t>(key / experts_);
  }
  fetch->reads_left = fetch->wanted.count;
  fetch->place = std::move(reserved.block);
  return fetch;
}

void Experts::Read(Key key, Arrived arrived) {
  auto reserved = cache_.Reserve(key);
  PENSTOCK_CHECK(reserved.has_value());  // Invariant 1.
  const FetchRef fetch = MakeFetch(key, std::move(*reserved));
  fetch->arrived = std::move(arrived);
  Count(CostOf(*fetch));
  Start(fetch, io::ReadClass::kDemanded);
}

void Experts::Start(const FetchRef& fetch, io::ReadClass read_class) {
  DeviceBegins();
  const bool ahead = read_class == io::ReadClass::kPredicted;
  MutableBuffer rest = std::move(fetch->place);
  std::array<MutableBuffer, kTensors> places;
  const size_t count = fetch->wanted.count;
  for (size_t i = 0; i < count; ++i) {
    const size_t bytes = reader_.BufferBytes(fetch->wanted.extents[i]);
    MutableBuffer place = rest.TakeFront(RoundUp(bytes, reader_.Alignment()));
    places[i] = place.TakeFront(bytes);
  }
  fetch->place = std::move(rest);  // The last read to arrive may end it: nothing is touched after.
  for (size_t i = 0; i < count; ++i) {
    const io::ReadId id =
        reader_.Read(fetch->wanted.extents[i], std::move(places[i]), read_class,
                     [this, fetch, i](Result<BufferRef> result) {
                       if (!result && result.error().code == ErrorCode::kCancelled)
                         fetch->cancelled[i] = true;
                       Keep(*fetch, fetch->wanted.extents[i], std::move(result));
                       if (fetch->reads_left.fetch_sub(1) == 1) Finish(fetch);
                     });
    if (!ahead) continue;
    std::unique_lock lock(mutex_);
    fetch->ids[fetch->id_count++] = id;
    const bool demanded = fetch->demanded;
    const bool unwanted = fetch->unwanted;
    lock.unlock();
    if (demanded) {
      reader_.Raise(id, io::ReadClass::kDemanded);  // It was joined before its number was known.
    } else if (unwanted) {
      reader_.Cancel(id);
    }
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

void Experts::Finish(const FetchRef& fetch) {
  DeviceEnds(fetch->error ? 0 : 1);
  if (fetch->ahead) return FinishAhead(fetch);
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

// --- predictions ---

bool Experts::Predict(uint64_t visit, size_t layer, size_t expert) {
  const Key key = layer * experts_ + expert;
  FetchRef fetch;
  {
    const std::lock_guard lock(mutex_);
    if (visit <= settled_) return false;
    if (const auto found = predicted_.find(key); found != predicted_.end()) {
      // Under way since an earlier visit, which had no use for it: it is waited for again.
      if (!found->second->demanded) {
        found->second->visit = visit;
        found->second->unwanted = false;
      }
      return false;
    }
    if (holds_ >= ahead_slots_ || cache_.Contains(key)) return false;
    auto reserved = cache_.Reserve(key, io::BlockCache::Reason::kAhead);
    if (!reserved) return false;
    fetch = MakeFetch(key, std::move(*reserved));
    fetch->ahead = true;
    fetch->visit = visit;
    ++holds_;
    ++ahead_[layer].issued;
    pending_bytes_ += CostOf(*fetch).payload;
    predicted_.emplace(key, fetch);
  }
  Start(fetch, io::ReadClass::kPredicted);
  return true;
}

void Experts::Settle(uint64_t visit, size_t layer, std::span<const uint32_t> chosen) {
  std::vector<FetchRef> come;
  std::vector<io::ReadId> waiting;
  {
    const std::lock_guard lock(mutex_);
    settled_ = std::max(settled_, visit);
    for (auto it = predicted_.begin(); it != predicted_.end();) {
      const FetchRef& fetch = it->second;
      const bool wanted =
          fetch->demanded || fetch->visit > visit ||
          (fetch->visit == visit && fetch->key / experts_ == layer &&
           std::find(chosen.begin(), chosen.end(), fetch->key % experts_) != chosen.end());
      if (!wanted && fetch->ready) {
        come.push_back(fetch);
        it = predicted_.erase(it);
        continue;
      }
      if (!wanted && !fetch->unwanted) {
        fetch->unwanted = true;
        waiting.insert(waiting.end(), fetch->ids.begin(), fetch->ids.begin() + fetch->id_count);
      }
      ++it;
    }
  }
  for (const io::ReadId id : waiting) reader_.Cancel(id);
  for (const FetchRef& fetch : come) End(fetch, false);
}

void Experts::FinishAhead(const FetchRef& fetch) {
  const bool read = !fetch->error;
  if (read) {
    views_[fetch->slot] = ViewOf(fetch->pointers);
    cache_.Publish(fetch->key, fetch->slot);
  } else {
    cache_.Discard(fetch->key, fetch->slot);
  }
  Arrived arrived;
  {
    const std::lock_guard lock(mutex_);
    if (read && !fetch->demanded && !fetch->unwanted) {
      fetch->ready = true;
      return;
    }
    arrived = std::move(fetch->arrived);
    predicted_.erase(fetch->key);
  }
  if (!arrived) return End(fetch, false);
  if (read) return Deliver(fetch, arrived);
  // Its place must be free before the demand takes one: there is none to spare.
  End(fetch, false);
  Read(fetch->key, std::move(arrived));
}

// A prediction that has come, to its demand. The demand holds the slot before the prediction lets go of
// it, and the accounts are right before anybody can ask for them.
void Experts::Deliver(const FetchRef& fetch, const Arrived& arrived) {
  auto held = cache_.Find(fetch->key);
  PENSTOCK_CHECK(held && held->slot == fetch->slot);
  ExpertWeights weights{views_[held->slot], held->block.owner()};
  held.reset();  // The receiver's reference is the only one.
  End(fetch, true);
  arrived(std::move(weights));
}

// The end of a prediction: its bytes are counted, its slot goes home.
void Experts::End(const FetchRef& fetch, bool useful) {
  fetch->place = MutableBuffer();
  const Traffic cost = CostOf(*fetch);
  Traffic whole = cost;
  for (size_t i = 0; i < fetch->wanted.count; ++i) {
    if (fetch->cancelled[i]) whole.payload += fetch->wanted.extents[i].bytes;
  }
  Count(cost);
  const std::lock_guard lock(mutex_);
  --holds_;
  pending_bytes_ -= whole.payload;
  Ahead& ahead = ahead_[fetch->key / experts_];
  if (useful) {
    ++ahead.useful;
    ahead.useful_bytes += cost.payload;
  } else if (cost.reads == 0) {
    ++ahead.dropped;
  } else {
    ++ahead.wasted;
    ahead.wasted_bytes += cost.payload;
  }
}

bool Experts::IsHere(size_t layer, size_t expert) const {
  return cache_.Contains(layer * experts_ + expert);
}

// --- accounts ---

// What its reads take, without those that were called off.
Traffic Experts::CostOf(const Fetch& fetch) const {
  Traffic cost;
  for (size_t i = 0; i < fetch.wanted.count; ++i) {
    if (fetch.cancelled[i]) continue;
    const io::Extent& run = fetch.wanted.extents[i];
    cost.Add({run.bytes, reader_.BufferBytes(run), 1});
  }
  return cost;
}

void Experts::Count(const Traffic& traffic) {
  payload_.fetch_add(traffic.payload, std::memory_order_relaxed);
  device_.fetch_add(traffic.device, std::memory_order_relaxed);
  reads_.fetch_add(traffic.reads, std::memory_order_relaxed);
}

void Experts::DeviceBegins() {
  const std::lock_guard lock(clock_mutex_);
  if (reading_++ == 0) reading_since_ns_ = NowNs(Clock::kWall);
}

void Experts::DeviceEnds(uint64_t experts) {
  const std::lock_guard lock(clock_mutex_);
  constexpr double kMostExperts = 256;  // What the mean looks back on.
  busy_experts_ += static_cast<double>(experts);
  if (--reading_ != 0) return;
  busy_seconds_ += static_cast<double>(NowNs(Clock::kWall) - reading_since_ns_) * 1e-9;
  if (busy_experts_ > kMostExperts) {
    busy_seconds_ /= 2;
    busy_experts_ /= 2;
  }
}

double Experts::service_seconds() const {
  const std::lock_guard lock(clock_mutex_);
  return busy_experts_ < 1 ? 0 : busy_seconds_ / busy_experts_;
}

size_t Experts::predicted() const {
  const std::lock_guard lock(mutex_);
  return holds_;
}

uint64_t Experts::pending_bytes() const {
  const std::lock_guard lock(mutex_);
  return pending_bytes_;
}

Ahead Experts::ahead(size_t layer) const {
  const std::lock_guard lock(mutex_);
  return ahead_[layer];
}

Ahead Experts::ahead() const {
  const std::lock_guard lock(mutex_);
  Ahead sum;
  for (const Ahead& layer : ahead_) sum.Add(layer);
  return sum;
}

Traffic Experts::traffic() const { return {payload_.load(), device_.load(), reads_.load()}; }

}  // namespace penstock::k3
