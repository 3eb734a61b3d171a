#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "io/cache/eviction/policy.h"

namespace penstock::io {

// Belady's optimum: the block whose next use lies furthest ahead goes. It needs all requests in
// advance, in the order in which they will be told: a bound for the others, for recorded requests.
class BeladyPolicy final : public EvictionPolicy {
 public:
  BeladyPolicy(size_t slots, std::span<const BlockKey> requests);

  void Hit(BlockKey, BlockSlot slot) override { next_use_[slot] = next_[now_++]; }
  void Miss(BlockKey) override { ++now_; }
  // The block of the last Miss.
  void Insert(BlockKey, BlockSlot slot) override { next_use_[slot] = next_[now_ - 1]; }
  void Remove(BlockKey, BlockSlot) override {}
  BlockSlot Victim(const Idle& idle) override;
  const char* name() const override { return "belady"; }

 private:
  std::vector<size_t> next_;      // [requests] where the same key is asked for again.
  std::vector<size_t> next_use_;  // [slots]
  size_t now_ = 0;
};

}  // namespace penstock::io
