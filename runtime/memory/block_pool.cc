#include "runtime/memory/block_pool.h"

#include "runtime/check.h"
#include "runtime/memory/poison.h"

namespace penstock {

BlockPool::BlockPool(std::byte* memory, size_t block_bytes, size_t count)
    : memory_(memory), block_bytes_(block_bytes), count_(count) {
  free_.reserve(count);
  for (size_t i = count; i > 0; --i) free_.push_back(memory_ + (i - 1) * block_bytes_);
}

BlockPool::~BlockPool() { PENSTOCK_CHECK(free_.size() == count_); }

std::optional<MutableBuffer> BlockPool::Allocate() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return std::nullopt;
  std::byte* block = free_.back();
  free_.pop_back();
  std::shared_ptr<void> owner(block, [this](void* data) { Drop(static_cast<std::byte*>(data)); });
  return MutableBuffer(block, block_bytes_, std::move(owner));
}

void BlockPool::Drop(std::byte* block) {
  Poison(block, block_bytes_);
  const std::lock_guard lock(mutex_);
  free_.push_back(block);
}

size_t BlockPool::free_blocks() const {
  const std::lock_guard lock(mutex_);
  return free_.size();
}

}  // namespace penstock
