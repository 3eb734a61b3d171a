#include "io/cache/block_cache.h"

#include "runtime/check.h"

namespace penstock::io {

BlockCache::BlockCache(std::byte* memory, size_t slot_bytes, size_t slots)
    : memory_(memory), slot_bytes_(slot_bytes), slots_(slots) {
  ready_.reserve(slots);
  for (Slot slot = 0; slot < slots; ++slot) {
    slots_[slot].place = idle_.insert(idle_.end(), slot);
  }
}

BlockCache::~BlockCache() { PENSTOCK_CHECK(idle_.size() == slots_.size()); }

std::shared_ptr<void> BlockCache::Hold(Slot slot) {
  Entry& entry = slots_[slot];
  if (entry.references++ == 0) idle_.erase(entry.place);
  return {Address(slot), [this, slot](void*) { Drop(slot); }};
}

void BlockCache::Drop(Slot slot) {
  {
    const std::lock_guard lock(mutex_);
    Entry& entry = slots_[slot];
    if (--entry.references == 0) {
      // A block without content goes to the front: it is the first to be reused.
      const auto where = entry.phase == Phase::kReady ? idle_.end() : idle_.begin();
      if (entry.phase != Phase::kReady) entry.phase = Phase::kFree;
      entry.place = idle_.insert(where, slot);
    }
  }
  if (on_release_) on_release_();
}

std::optional<BlockCache::Held> BlockCache::Find(Key key) {
  const std::lock_guard lock(mutex_);
  const auto found = ready_.find(key);
  if (found == ready_.end()) return std::nullopt;
  const Slot slot = found->second;
  return Held{slot, BufferRef(Address(slot), slot_bytes_, Hold(slot))};
}

std::optional<BlockCache::Reserved> BlockCache::Reserve(Key key) {
  const std::lock_guard lock(mutex_);
  PENSTOCK_CHECK(!ready_.contains(key));
  if (idle_.empty()) return std::nullopt;
  const Slot slot = idle_.front();
  Entry& entry = slots_[slot];
  if (entry.phase == Phase::kReady) ready_.erase(entry.key);
  entry.key = key;
  entry.phase = Phase::kFilling;
  return Reserved{slot, MutableBuffer(Address(slot), slot_bytes_, Hold(slot))};
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
  entry.phase = Phase::kFree;
}

size_t BlockCache::held() const {
  const std::lock_guard lock(mutex_);
  return slots_.size() - idle_.size();
}

}  // namespace penstock::io
