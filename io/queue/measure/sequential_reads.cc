#include "io/queue/measure/sequential_reads.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "io/queue/window.h"
#include "runtime/check.h"
#include "runtime/measure/clock.h"

namespace penstock::io {

Result<std::unique_ptr<SequentialReads>> SequentialReads::Make(const IoOptions& options,
                                                               std::span<const std::string> paths,
                                                               const Notice& notice) {
  PENSTOCK_TRY(const DirectMode mode, ParseDirectMode(options.direct));
  PENSTOCK_TRY(FileSet files, FileSet::Open(paths, mode, notice));
  std::vector<uint64_t> extents;
  for (const File& file : files.files()) extents.push_back(file.bytes / kExtentBytes);
  PENSTOCK_TRY(const Window window, ChooseWindow(options, files));
  IoOptions decided = options;
  decided.window = FormatSize({window.bytes});
  std::unique_ptr<SequentialReads> reads(new SequentialReads(std::move(extents)));
  const uint64_t most = std::max(window.bytes, 2 * options.bs.bytes);
  reads->slots_ = RoundUp(2 * most, kExtentBytes) / kExtentBytes;
  PENSTOCK_TRY(reads->memory_, HugeRegion::Map(reads->slots_ * kExtentBytes));
  reads->memory_.Touch();
  for (size_t i = 0; i < reads->slots_; ++i) {
    reads->free_.push_back(reads->memory_.data() + i * kExtentBytes);
  }
  const Region region{reads->memory_.data(), reads->memory_.size()};
  PENSTOCK_TRY(reads->reader_, MakeReader(decided, std::move(files), {&region, 1}, notice));
  return reads;
}

std::byte* SequentialReads::TakeSlot() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !free_.empty(); });
  std::byte* slot = free_.back();
  free_.pop_back();
  return slot;
}

void SequentialReads::Read(const Extent& extent, std::byte* slot) {
  reader_->Read(extent, MutableBuffer(slot, kExtentBytes, nullptr), ReadClass::kTrunk,
                [this, slot](Result<BufferRef> result) {
                  const std::lock_guard lock(mutex_);
                  if (!result && outcome_) outcome_ = std::move(result.error());
                  free_.push_back(slot);
                  changed_.notify_one();
                });
}

Result<ReadCost> SequentialReads::Run(FileId file, uint64_t offset, uint64_t bytes) {
  PENSTOCK_CHECK(file < extents_.size() && extents_[file] > 0);
  const uint64_t count = std::max<uint64_t>(bytes / kExtentBytes, 1);
  const uint64_t first = offset / kExtentBytes;
  const uint64_t cpu = NowNs(Clock::kProcessCpu), start = NowNs(Clock::kWall);
  for (uint64_t i = 0; i < count; ++i) {
    Read({file, (first + i) % extents_[file] * kExtentBytes, kExtentBytes}, TakeSlot());
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return free_.size() == slots_; });
  const ReadCost cost{count * kExtentBytes, NowNs(Clock::kWall) - start,
                      NowNs(Clock::kProcessCpu) - cpu};
  PENSTOCK_TRY_VOID(std::exchange(outcome_, Status()));
  return cost;
}

}  // namespace penstock::io
