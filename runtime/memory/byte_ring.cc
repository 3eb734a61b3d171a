#include "runtime/memory/byte_ring.h"

#include "runtime/check.h"
#include "runtime/memory/poison.h"

namespace penstock {

ByteRing::ByteRing(std::byte* memory, size_t bytes, size_t alignment)
    : memory_(memory), capacity_(bytes / alignment * alignment), alignment_(alignment) {}

ByteRing::~ByteRing() { PENSTOCK_CHECK(used_ == 0); }

std::optional<size_t> ByteRing::Place(size_t bytes) const {
  if (pieces_.empty()) return bytes <= capacity_ ? std::optional<size_t>(0) : std::nullopt;
  const size_t tail = pieces_.front().offset;
  const size_t head = pieces_.back().offset + pieces_.back().bytes;
  const bool wrapped = pieces_.back().offset < tail;
  if (wrapped) return bytes <= tail - head ? std::optional(head) : std::nullopt;
  if (bytes <= capacity_ - head) return head;
  return bytes <= tail ? std::optional<size_t>(0) : std::nullopt;
}

std::optional<MutableBuffer> ByteRing::Allocate(size_t bytes) {
  PENSTOCK_CHECK(bytes > 0);
  const size_t rounded = (bytes + alignment_ - 1) / alignment_ * alignment_;
  const std::lock_guard lock(mutex_);
  const auto offset = Place(rounded);
  if (!offset) return std::nullopt;
  const size_t number = first_ + pieces_.size();
  pieces_.push_back({*offset, rounded, false});
  used_ += rounded;
  std::byte* data = memory_ + *offset;
  std::shared_ptr<void> owner(data, [this, number](void*) { Drop(number); });
  return MutableBuffer(data, bytes, std::move(owner));
}

void ByteRing::Drop(size_t number) {
  {
    const std::lock_guard lock(mutex_);
    Piece& dropped = pieces_[number - first_];
    Poison(memory_ + dropped.offset, dropped.bytes);
    dropped.dropped = true;
    while (!pieces_.empty() && pieces_.front().dropped) {
      used_ -= pieces_.front().bytes;
      pieces_.pop_front();
      ++first_;
    }
  }
  if (on_free_) on_free_();
}

size_t ByteRing::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

}  // namespace penstock
