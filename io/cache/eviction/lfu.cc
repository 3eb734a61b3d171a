#include "io/cache/eviction/lfu.h"

#include <algorithm>
#include <tuple>

#include "runtime/check.h"

namespace penstock::io {

void LfuPolicy::Hit(BlockKey key, BlockSlot /*slot*/) { Count(key); }

void LfuPolicy::Count(BlockKey key) {
  Uses& uses = uses_[key];
  ++uses.count;
  uses.last = ++now_;
  if (now_ % std::max<uint64_t>(period_, 1) == 0) Age();
}

void LfuPolicy::Age() {
  for (auto it = uses_.begin(); it != uses_.end();) {
    it->second.count /= 2;
    it = it->second.count == 0 ? uses_.erase(it) : std::next(it);
  }
}

BlockSlot LfuPolicy::Victim(const Idle& idle) {
  BlockSlot victim = static_cast<BlockSlot>(idle.size());
  std::tuple<uint32_t, uint64_t> least;
  for (BlockSlot slot = 0; slot < idle.size(); ++slot) {
    if (idle[slot] == 0) continue;
    const auto found = uses_.find(resident_[slot]);
    const std::tuple<uint32_t, uint64_t> rank =
        found == uses_.end() ? std::tuple<uint32_t, uint64_t>{0, 0}
                             : std::tuple{found->second.count, found->second.last};
    if (victim == idle.size() || rank < least) {
      victim = slot;
      least = rank;
    }
  }
  PENSTOCK_CHECK(victim < idle.size());
  return victim;
}

}  // namespace penstock::io
