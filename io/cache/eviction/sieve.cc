#include "io/cache/eviction/sieve.h"

#include "runtime/check.h"

namespace penstock::io {

void SievePolicy::Insert(BlockKey /*key*/, BlockSlot slot) {
  place_[slot] = queue_.insert(queue_.end(), slot);
  marked_[slot] = 0;
}

void SievePolicy::Remove(BlockKey /*key*/, BlockSlot slot) {
  if (hand_ == place_[slot]) ++hand_;
  queue_.erase(place_[slot]);
}

BlockSlot SievePolicy::Victim(const Idle& idle) {
  // Two rounds take away every mark, the third finds the one idle block there is at least.
  for (size_t looked = 0; looked <= 3 * queue_.size(); ++looked) {
    if (hand_ == queue_.end()) hand_ = queue_.begin();
    const BlockSlot slot = *hand_;
    if (idle[slot] != 0 && marked_[slot] == 0) return slot;
    if (idle[slot] != 0) marked_[slot] = 0;
    ++hand_;
  }
  PENSTOCK_CHECK(false);
}

}  // namespace penstock::io
