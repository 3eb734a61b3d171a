#include "io/cache/eviction/policies.h"

#include <array>
#include <unordered_map>
#include <vector>

#include "io/cache/eviction/lfu.h"
#include "io/cache/eviction/lru.h"
#include "io/cache/eviction/round.h"
#include "io/cache/eviction/sieve.h"

namespace penstock::io {

std::span<const std::string_view> PolicyNames() {
  static constexpr std::array<std::string_view, 4> kNames = {"round", "lru", "lfu", "sieve"};
  return kNames;
}

std::unique_ptr<EvictionPolicy> MakePolicy(std::string_view name, const CacheFacts& facts) {
  if (name == "round") return std::make_unique<RoundPolicy>(facts.slots, facts.keys, facts.round);
  if (name == "lru") return std::make_unique<LruPolicy>(facts.slots);
  if (name == "lfu") return std::make_unique<LfuPolicy>(facts.slots);
  if (name == "sieve") return std::make_unique<SievePolicy>(facts.slots);
  return nullptr;
}

Replayed Replay(EvictionPolicy& policy, size_t slots, std::span<const BlockKey> requests) {
  std::unordered_map<BlockKey, BlockSlot> where;
  std::vector<BlockKey> resident(slots);
  EvictionPolicy::Idle idle(slots);
  BlockSlot used = 0;
  Replayed replayed;
  for (const BlockKey key : requests) {
    ++replayed.requests;
    if (const auto found = where.find(key); found != where.end()) {
      ++replayed.hits;
      policy.Hit(key, found->second);
      continue;
    }
    policy.Miss(key);
    BlockSlot slot = used;
    if (used < slots) {
      ++used;
    } else {
      slot = policy.Victim(idle);
      policy.Remove(resident[slot], slot);
      where.erase(resident[slot]);
    }
    resident[slot] = key;
    where.emplace(key, slot);
    idle[slot] = 1;
    policy.Insert(key, slot);
  }
  return replayed;
}

}  // namespace penstock::io
