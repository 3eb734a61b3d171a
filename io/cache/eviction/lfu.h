#pragma once

#include <unordered_map>
#include <vector>

#include "io/cache/eviction/policy.h"

namespace penstock::io {

// The least often asked for goes first, among equals the least recently asked for. Counts are kept
// for keys that have left, too, and all of them are halved after every `ageing` times as many
// requests as there are slots, so that what was often wanted long ago does not stay for ever.
class LfuPolicy final : public EvictionPolicy {
 public:
  explicit LfuPolicy(size_t slots, size_t ageing = 10)
      : resident_(slots), period_(slots * ageing) {}

  void Hit(BlockKey key, BlockSlot slot) override;
  void Miss(BlockKey key) override { Count(key); }
  void Insert(BlockKey key, BlockSlot slot) override { resident_[slot] = key; }
  void Remove(BlockKey, BlockSlot) override {}
  BlockSlot Victim(const Idle& idle) override;
  const char* name() const override { return "lfu"; }

 private:
  struct Uses {
    uint32_t count = 0;
    uint64_t last = 0;
  };
  void Count(BlockKey key);
  void Age();

  std::unordered_map<BlockKey, Uses> uses_;
  std::vector<BlockKey> resident_;
  const uint64_t period_;
  uint64_t now_ = 0;
};

}  // namespace penstock::io
