#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "io/cache/eviction/policy.h"
#include "runtime/memory/buffer.h"

namespace penstock::io {

// A cache of blocks of one size in one range of memory. It is the mechanism, slots and holds; which
// block makes room is its policy's choice.
//
// Invariants:
//  1. A block is *filling* (reserved, one writer), *ready* (readable) or free. Only ready blocks are
//     found by Find.
//  2. A block that somebody holds a reference to is never reused: to pin is to hold.
//  3. Reserve succeeds whenever fewer blocks are held than there are slots.
// Threads: any. Lifetime: the cache outlives its references.
class BlockCache {
 public:
  using Key = BlockKey;
  using Slot = BlockSlot;

  // `memory` is borrowed and holds slots * slot_bytes. Without a policy the least recently asked for
  // goes first.
  BlockCache(std::byte* memory, size_t slot_bytes, size_t slots,
             std::unique_ptr<EvictionPolicy> policy = nullptr);
  ~BlockCache();
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  struct Held {
    Slot slot = 0;
    BufferRef block;
  };
  // The ready block of `key`, which has been asked for.
  std::optional<Held> Find(Key key);
  // Whether Find would give it; nobody has asked for it.
  bool Contains(Key key) const;

  // Why a block is brought: it was asked for, or it may be. Only holds of the former are told to
  // OnRelease.
  enum class Reason : uint8_t { kAsked, kAhead };

  struct Reserved {
    Slot slot = 0;
    MutableBuffer block;
  };
  // A slot to fill for `key`, evicting a block that nobody holds. The key must be neither ready nor
  // filling. Nothing when every slot is held.
  std::optional<Reserved> Reserve(Key key, Reason reason = Reason::kAsked);

  // The block of `key` is whole: from now on Find gives it.
  void Publish(Key key, Slot slot);
  // The block of `key` could not be filled: the slot becomes free when its last reference drops.
  void Discard(Key key, Slot slot);

  // Called once for each Find or Reserve (kAsked) that gave a block, when its last reference has
  // dropped, on the thread that dropped it, outside the lock. Set before the first use.
  void OnRelease(std::function<void()> on_release) { on_release_ = std::move(on_release); }

  size_t slots() const { return slots_.size(); }
  size_t held() const;

 private:
  enum class Phase : uint8_t { kFree, kFilling, kReady };
  struct Entry {
    Key key = 0;
    uint32_t references = 0;
    Phase phase = Phase::kFree;
  };
  std::shared_ptr<void> Hold(Slot slot, Reason reason);  // Needs the lock.
  void Drop(Slot slot, Reason reason);
  std::optional<Slot> TakeSlot();  // Needs the lock.
  std::byte* Address(Slot slot) const { return memory_ + size_t{slot} * slot_bytes_; }

  std::byte* const memory_;
  const size_t slot_bytes_;
  std::function<void()> on_release_;
  mutable std::mutex mutex_;
  std::unique_ptr<EvictionPolicy> policy_;
  std::vector<Entry> slots_;
  std::vector<Slot> free_;     // Without content, and nobody holds them.
  EvictionPolicy::Idle idle_;  // [slots] ready, and nobody holds it
  size_t idle_count_ = 0;
  std::unordered_map<Key, Slot> ready_;
};

}  // namespace penstock::io
