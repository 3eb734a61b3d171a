#pragma once

#include <list>
#include <vector>

#include "io/cache/eviction/policy.h"

namespace penstock::io {

// The least recently asked for goes first. Keys that come round in a fixed order and do not all fit
// are each evicted just before they come again: it then finds nothing.
class LruPolicy final : public EvictionPolicy {
 public:
  explicit LruPolicy(size_t slots) : place_(slots) {}

  void Hit(BlockKey key, BlockSlot slot) override;
  void Miss(BlockKey) override {}
  void Insert(BlockKey key, BlockSlot slot) override;
  void Remove(BlockKey key, BlockSlot slot) override;
  BlockSlot Victim(const Idle& idle) override;
  const char* name() const override { return "lru"; }

 private:
  std::list<BlockSlot> order_;  // Oldest first.
  std::vector<std::list<BlockSlot>::iterator> place_;
};

}  // namespace penstock::io
