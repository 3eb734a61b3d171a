#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock::io {

using BlockKey = uint64_t;
using BlockSlot = uint32_t;

// Which block of a full cache makes room for another. Pure arithmetic on keys and slot numbers: no
// memory, no thread, no clock. A policy may change how often a block is found, never what is found.
//
// What it is told, in this order: every key that is asked for is a Hit or a Miss; a block that comes
// into a slot is an Insert, after its Miss or, brought before anybody asked, without one; Victim
// names the slot to reuse and a Remove of it follows.
// Threads: none; the caller serialises. Slots are below the number given at construction.
class EvictionPolicy {
 public:
  virtual ~EvictionPolicy() = default;

  virtual void Hit(BlockKey key, BlockSlot slot) = 0;
  virtual void Miss(BlockKey key) = 0;
  virtual void Insert(BlockKey key, BlockSlot slot) = 0;
  virtual void Remove(BlockKey key, BlockSlot slot) = 0;

  // idle[slot] != 0: it was inserted and nobody holds it. There is at least one.
  using Idle = std::vector<uint8_t>;
  virtual BlockSlot Victim(const Idle& idle) = 0;

  virtual const char* name() const = 0;
};

}  // namespace penstock::io
