#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

#include "runtime/memory/buffer.h"

namespace penstock {

// One range of memory handed out in order, front to back and around, in pieces of any size.
//
// Invariants:
//  1. A piece is contiguous. Pieces are handed out in order of Allocate and may be dropped in any
//     order; their bytes can be used again once every older piece has been dropped as well.
//  2. A piece's bytes come back when its last reference drops, by nothing else.
//  3. An empty ring starts again at its beginning: else a piece that fits neither behind the last
//     one nor in front of it would wait for ever.
// Threads: any. `on_free` runs on the thread that dropped the reference, outside the lock.
// Lifetime: the ring outlives its pieces.
class ByteRing {
 public:
  // `memory` is borrowed. Every piece starts at a multiple of `alignment` relative to it.
  ByteRing(std::byte* memory, size_t bytes, size_t alignment);
  ~ByteRing();
  ByteRing(const ByteRing&) = delete;
  ByteRing& operator=(const ByteRing&) = delete;

  // Nothing when the piece does not fit now.
  std::optional<MutableBuffer> Allocate(size_t bytes);

  // Called after bytes came back. Set before the first Allocate.
  void OnFree(std::function<void()> on_free) { on_free_ = std::move(on_free); }

  size_t capacity() const { return capacity_; }
  size_t used() const;

 private:
  struct Piece {
    size_t offset;
    size_t bytes;
    bool dropped;
  };
  std::optional<size_t> Place(size_t bytes) const;
  void Drop(size_t number);

  std::byte* const memory_;
  const size_t capacity_;
  const size_t alignment_;
  std::function<void()> on_free_;
  mutable std::mutex mutex_;
  std::deque<Piece> pieces_;  // Oldest first; number of the front one in first_.
  size_t first_ = 0;
  size_t used_ = 0;
};

}  // namespace penstock
