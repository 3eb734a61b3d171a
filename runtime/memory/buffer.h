#pragma once

#include <cstddef>
#include <memory>
#include <utility>

namespace penstock {

// Shared, read-only bytes. Copies share one owner; the bytes go back to where they came from when
// the last reference drops. To pin something in memory is to hold a reference to it.
// Threads: copies may be used and dropped on different threads; one object is not synchronised.
class BufferRef {
 public:
  BufferRef() = default;
  BufferRef(const std::byte* data, size_t size, std::shared_ptr<void> owner)
      : owner_(std::move(owner)), data_(data), size_(size) {}

  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  explicit operator bool() const { return data_ != nullptr; }
  void reset() { *this = BufferRef(); }

  // A part of the same bytes, with the same owner.
  BufferRef Slice(size_t offset, size_t size) const { return {data_ + offset, size, owner_}; }
  const std::shared_ptr<void>& owner() const { return owner_; }

 private:
  std::shared_ptr<void> owner_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// Bytes with exactly one writer: move-only. Freeze() ends writing and gives a shared BufferRef.
class MutableBuffer {
 public:
  MutableBuffer() = default;
  MutableBuffer(std::byte* data, size_t size, std::shared_ptr<void> owner)
      : owner_(std::move(owner)), data_(data), size_(size) {}
  MutableBuffer(MutableBuffer&& other) noexcept { *this = std::move(other); }
  MutableBuffer& operator=(MutableBuffer&& other) noexcept {
    owner_ = std::move(other.owner_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }
  MutableBuffer(const MutableBuffer&) = delete;
  MutableBuffer& operator=(const MutableBuffer&) = delete;

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  explicit operator bool() const { return data_ != nullptr; }
  const std::shared_ptr<void>& owner() const { return owner_; }

  BufferRef Freeze() && {
    return {std::exchange(data_, nullptr), std::exchange(size_, 0), std::move(owner_)};
  }

  // Splits off the first `size` bytes as a buffer of its own; both parts share the owner.
  MutableBuffer TakeFront(size_t size) {
    MutableBuffer front(data_, size, owner_);
    data_ += size;
    size_ -= size;
    return front;
  }

 private:
  std::shared_ptr<void> owner_;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace penstock
