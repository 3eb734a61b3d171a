#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/memory/buffer.h"

namespace penstock {

// Blocks of one size from one range of memory, each back in the pool when its last reference drops.
// Threads: any. Lifetime: the pool outlives its blocks. The last block dropped is the next given,
// so that a warm one is used again.
class BlockPool {
 public:
  // `memory` is borrowed and holds count * block_bytes.
  BlockPool(std::byte* memory, size_t block_bytes, size_t count);
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  std::optional<MutableBuffer> Allocate();  // Nothing when every block is in use.
  size_t block_bytes() const { return block_bytes_; }
  size_t count() const { return count_; }
  size_t free_blocks() const;

 private:
  void Drop(std::byte* block);

  std::byte* const memory_;
  const size_t block_bytes_;
  const size_t count_;
  mutable std::mutex mutex_;
  std::vector<std::byte*> free_;
};

}  // namespace penstock
