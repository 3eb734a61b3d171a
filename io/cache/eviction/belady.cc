#include "io/cache/eviction/belady.h"

#include <unordered_map>

#include "runtime/check.h"

namespace penstock::io {

BeladyPolicy::BeladyPolicy(size_t slots, std::span<const BlockKey> requests)
    : next_(requests.size()), next_use_(slots) {
  std::unordered_map<BlockKey, size_t> seen;
  for (size_t i = requests.size(); i-- > 0;) {
    const auto [place, is_new] = seen.try_emplace(requests[i], i);
    next_[i] = is_new ? requests.size() : place->second;
    place->second = i;
  }
}

BlockSlot BeladyPolicy::Victim(const Idle& idle) {
  BlockSlot victim = static_cast<BlockSlot>(idle.size());
  for (BlockSlot slot = 0; slot < idle.size(); ++slot) {
    if (idle[slot] == 0) continue;
    if (victim == idle.size() || next_use_[slot] > next_use_[victim]) victim = slot;
  }
  PENSTOCK_CHECK(victim < idle.size());
  return victim;
}

}  // namespace penstock::io
