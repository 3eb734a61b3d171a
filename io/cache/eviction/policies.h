#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "io/cache/eviction/policy.h"

namespace penstock::io {

// What a policy may know of the cache it works for.
struct CacheFacts {
  size_t slots = 0;
  size_t keys = 0;   // Every key is below.
  size_t round = 0;  // Requests after which the keys come round again.
};

// Names of the policies that need no knowledge of the future, the one that caches use first.
std::span<const std::string_view> PolicyNames();

// Null for an unknown name.
std::unique_ptr<EvictionPolicy> MakePolicy(std::string_view name, const CacheFacts& facts);

struct Replayed {
  uint64_t requests = 0;
  uint64_t hits = 0;
  double rate() const {
    return requests == 0 ? 0 : static_cast<double>(hits) / static_cast<double>(requests);
  }
};
// What a cache of `slots` blocks would have found of `requests`, each held only while it is used.
Replayed Replay(EvictionPolicy& policy, size_t slots, std::span<const BlockKey> requests);

}  // namespace penstock::io
