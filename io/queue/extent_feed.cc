#include "io/queue/extent_feed.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/memory/region.h"
#include "runtime/size.h"

namespace penstock::io {
namespace {

// The reads of one Run. Completions come on I/O threads.
class Flight {
 public:
  Flight(Reader& reader, std::span<MutableBuffer> slots)
      : reader_(reader), slots_(slots), arrived_(slots.size()) {}

  // Every read must have arrived before the state goes away.
  ~Flight() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return outstanding_ == 0; });
  }

  void Start(size_t i, const Extent& extent) {
    const size_t slot = i % slots_.size();
    const MutableBuffer& memory = slots_[slot];
    {
      const std::lock_guard lock(mutex_);
      arrived_[slot].reset();
      ++outstanding_;
    }
    reader_.Read(extent, MutableBuffer(memory.data(), memory.size(), memory.owner()),
                 ReadClass::kTrunk, [this, slot](Result<BufferRef> result) {
                   const std::lock_guard lock(mutex_);
                   arrived_[slot].emplace(std::move(result));
                   --outstanding_;
                   changed_.notify_all();
                 });
  }

  Result<BufferRef> Wait(size_t i) {
    const size_t slot = i % slots_.size();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return arrived_[slot].has_value(); });
    return *arrived_[slot];
  }

 private:
  Reader& reader_;
  const std::span<MutableBuffer> slots_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::optional<Result<BufferRef>>> arrived_;  // [slot]
  size_t outstanding_ = 0;
};

}  // namespace

Result<ExtentFeed> ExtentFeed::Make(Reader& reader, uint64_t most_bytes, size_t depth) {
  // Rounded out, an extent takes at most an alignment more at each end.
  const size_t bytes = RoundUp(most_bytes, reader.Alignment()) + 2 * reader.Alignment();
  std::vector<MutableBuffer> slots;
  for (size_t i = 0; i < depth; ++i) {
    PENSTOCK_TRY(MutableBuffer slot, AllocateBuffer(bytes));
    slots.push_back(std::move(slot));
  }
  return ExtentFeed(reader, std::move(slots));
}

Status ExtentFeed::Run(std::span<const Extent> extents, const Take& take) {
  Flight flight(*reader_, slots_);
  const size_t depth = slots_.size();
  for (size_t i = 0; i < std::min(depth, extents.size()); ++i) flight.Start(i, extents[i]);
  for (size_t i = 0; i < extents.size(); ++i) {
    PENSTOCK_TRY(const BufferRef bytes, flight.Wait(i));
    PENSTOCK_TRY_VOID(take(i, {bytes.data(), bytes.size()}));
    if (i + depth < extents.size()) flight.Start(i + depth, extents[i + depth]);
  }
  return {};
}

}  // namespace penstock::io
