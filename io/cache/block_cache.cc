#include "io/cache/block_cache.h"

#include <utility>

#include "io/cache/eviction/lru.h"
#include "runtime/check.h"

namespace penstock::io {

BlockCache::BlockCache(std::byte* memory, size_t slot_bytes, size_t slots,
                       std::unique_ptr<EvictionPolicy> policy)
    : memory_(memory),
      slot_bytes_(slot_bytes),
      policy_(policy ? std::move(policy) : std::make_unique<LruPolicy>(slots)),
      slots_(slots),
      idle_(slots) {
  ready_.reserve(slots);
  free_.reserve(slots);
  for (size_t slot = slots; slot-- > 0;) free_.push_back(static_cast<Slot>(slot));
}

BlockCache::~BlockCache() { PENSTOCK_CHECK(free_.size() + idle_count_ == slots_.size()); }

std::shared_ptr<void> BlockCache::Hold(Slot slot, Reason reason) {
  ++slots_[slot].references;
  if (idle_[slot] != 0) {
    idle_[slot] = 0;
    --idle_count_;
  }
  return {Address(slot), [this, slot, reason](void*) { Drop(slot, reason); }};
}

void BlockCache::Drop(Slot slot, Reason reason) {
  {
    const std::lock_guard lock(mutex_);
    Entry& entry = slots_[slot];
    if (--entry.references == 0) {
      if (entry.phase == Phase::kReady) {
        idle_[slot] = 1;
        ++idle_count_;
      } else {
        if (entry.phase == Phase::kFilling) policy_->Remove(entry.key, slot);
        entry.phase = Phase::kFree;
        free_.push_back(slot);
      }
    }
  }
  if (reason == Reason::kAsked && on_release_) on_release_();
}

std::optional<BlockCache::Held> BlockCache::Find(Key key) {
  const std::lock_guard lock(mutex_);
  const auto found = ready_.find(key);
  if (found == ready_.end()) return std::nullopt;
  const Slot slot = found->second;
  policy_->Hit(key, slot);
  return Held{slot, BufferRef(Address(slot), slot_bytes_, Hold(slot, Reason::kAsked))};
}

bool BlockCache::Contains(Key key) const {
  const std::lock_guard lock(mutex_);
  return ready_.contains(key);
}

std::optional<BlockCache::Slot> BlockCache::TakeSlot() {
  if (!free_.empty()) {
    const Slot slot = free_.back();
    free_.pop_back();
    return slot;
  }
  if (idle_count_ == 0) return std::nullopt;
  const Slot slot = policy_->Victim(idle_);
  PENSTOCK_CHECK(idle_[slot] != 0);
  policy_->Remove(slots_[slot].key, slot);
  ready_.erase(slots_[slot].key);
  return slot;
}

std::optional<BlockCache::Reserved> BlockCache::Reserve(Key key, Reason reason) {
  const std::lock_guard lock(mutex_);
  PENSTOCK_CHECK(!ready_.contains(key));
  if (reason == Reason::kAsked) policy_->Miss(key);
  const std::optional<Slot> slot = TakeSlot();
  if (!slot) return std::nullopt;
  slots_[*slot].key = key;
  slots_[*slot].phase = Phase::kFilling;
  policy_->Insert(key, *slot);
  return Reserved{*slot, MutableBuffer(Address(*slot), slot_bytes_, Hold(*slot, reason))};
}

void BlockCache::Publish(Key key, Slot slot) {
  const std::lock_guard lock(mutex_);
  Entry& entry = slots_[slot];
  PENSTOCK_CHECK(entry.key == key && entry.phase == Phase::kFilling && entry.references > 0);
  entry.phase = Phase::kReady;
  PENSTOCK_CHECK(ready_.emplace(key, slot).second);
}

void BlockCache::Discard(Key key, Slot slot) {
  const std::lock_guard lock(mutex_);
  Entry& entry = slots_[slot];
  PENSTOCK_CHECK(entry.key == key && entry.phase == Phase::kFilling);
  policy_->Remove(key, slot);
  entry.phase = Phase::kFree;
}

size_t BlockCache::held() const {
  const std::lock_guard lock(mutex_);
  return slots_.size() - idle_count_ - free_.size();
}

}  // namespace penstock::io
