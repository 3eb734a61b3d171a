#pragma once

#include <list>
#include <vector>

#include "io/cache/eviction/policy.h"

namespace penstock::io {

// SIEVE (Zhang et al., NSDI 2024): a queue in order of arrival, a mark on what was found since the
// hand last came by, and the hand, which takes marks away from old to new and evicts the first block
// without one. What is kept is not moved.
class SievePolicy final : public EvictionPolicy {
 public:
  explicit SievePolicy(size_t slots) : place_(slots), marked_(slots), hand_(queue_.end()) {}

  void Hit(BlockKey, BlockSlot slot) override { marked_[slot] = 1; }
  void Miss(BlockKey) override {}
  void Insert(BlockKey key, BlockSlot slot) override;
  void Remove(BlockKey key, BlockSlot slot) override;
  BlockSlot Victim(const Idle& idle) override;
  const char* name() const override { return "sieve"; }

 private:
  using Place = std::list<BlockSlot>::iterator;
  std::list<BlockSlot> queue_;  // Oldest first.
  std::vector<Place> place_;
  std::vector<uint8_t> marked_;
  Place hand_;  // The next to look at; the end stands for the beginning.
};

}  // namespace penstock::io
