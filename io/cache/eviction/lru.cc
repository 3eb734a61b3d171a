#include "io/cache/eviction/lru.h"

#include "runtime/check.h"

namespace penstock::io {

void LruPolicy::Hit(BlockKey /*key*/, BlockSlot slot) {
  order_.splice(order_.end(), order_, place_[slot]);
}

void LruPolicy::Insert(BlockKey /*key*/, BlockSlot slot) {
  place_[slot] = order_.insert(order_.end(), slot);
}

void LruPolicy::Remove(BlockKey /*key*/, BlockSlot slot) { order_.erase(place_[slot]); }

BlockSlot LruPolicy::Victim(const Idle& idle) {
  for (const BlockSlot slot : order_) {
    if (idle[slot] != 0) return slot;
  }
  PENSTOCK_CHECK(false);
}

}  // namespace penstock::io
