#include "models/k3/weights/stream.h"

#include <algorithm>

#include <fmt/format.h>

#include "io/read_now.h"
#include "models/k3/weights/packed/stripe_decoder.h"
#include "runtime/measure/clock.h"
#include "runtime/size.h"

namespace penstock::k3 {
namespace {

// Reads of pins under way: the reader bounds what the device gets of them.
constexpr size_t kPinDepth = 16;

}  // namespace

WeightStream::WeightStream(const Pass& pass, size_t layers, io::Reader& reader, ByteRing& ring,
                           uint64_t depth, bool decoded)
    : pass_(pass),
      layers_(layers),
      reader_(reader),
      ring_(ring),
      depth_(depth),
      decoded_(decoded),
      pinned_(pass.extents().size()),
      held_(pass.extents().size()),
      failed_(pass.extents().size()),
      admitted_(pass.extents().size()),
      outstanding_(pass.extents().size()) {}

void WeightStream::Begin() {
  first_streamed_ = NextStreamed(0);
  cursor_ = first_streamed_;
}

uint32_t WeightStream::NextStreamed(uint32_t extent) const {
  const auto extents = static_cast<uint32_t>(pinned_.size());
  for (uint32_t i = extent; i < extents; ++i) {
    if (!pinned_[i]) return i;
  }
  for (uint32_t i = 0; i < std::min(extent, extents); ++i) {
    if (!pinned_[i]) return i;
  }
  return extents;
}

Status WeightStream::Pin(std::span<const uint32_t> extents, std::byte* memory,
                         const io::GoOn& go_on) {
  const size_t alignment = reader_.Alignment();
  std::vector<io::Placed> places;
  places.reserve(extents.size());
  for (const uint32_t i : extents) {
    const io::Extent& extent = pass_.extents()[i].extent;
    const size_t bytes = reader_.BufferBytes(extent);
    places.push_back({extent, MutableBuffer(memory, bytes, nullptr)});
    memory += RoundUp(bytes, alignment);
  }
  PENSTOCK_TRY(std::vector<BufferRef> held,
               io::ReadMany(reader_, std::move(places), kPinDepth, go_on));
  for (size_t i = 0; i < extents.size(); ++i) {
    held_[extents[i]] = std::move(held[i]);
    pinned_[extents[i]] = true;
  }
  Begin();
  return {};
}

Status WeightStream::PinDecoded(std::span<const uint32_t> extents, std::byte* memory,
                                std::span<std::byte> staging, StripeDecoders& decoders,
                                const io::GoOn& go_on) {
  StripeDecoders::Lease decoder = decoders.Take();
  uint64_t done = 0;
  for (const uint32_t i : extents) {
    if (go_on && !go_on(done)) return Cancelled("stopped while weights were read");
    const io::Extent& extent = pass_.extents()[i].extent;
    MutableBuffer place(staging.data(), reader_.BufferBytes(extent), nullptr);
    PENSTOCK_TRY(const BufferRef stored, io::ReadInto(reader_, extent, std::move(place)));
    PENSTOCK_TRY_VOID(decoder->Begin(i, {stored.data(), stored.size()}));
    done += extent.bytes;
    const size_t bytes = pass_.RawBytes(i);
    PENSTOCK_TRY_VOID(decoder->DecodeAll({memory, bytes}, ops::Store::kStreaming));
    held_[i] = BufferRef(memory, bytes, nullptr);
    pinned_[i] = true;
    memory += RoundUp(bytes, reader_.Alignment());
  }
  pinned_decoded_ = true;
  Begin();
  return {};
}

// One extent that waits is one stop, however often admission is woken meanwhile.
void WeightStream::NoteStop(Bound bound) {
  stop_times_.Open(NowNs(Clock::kWall), static_cast<uint32_t>(bound));
  const uint64_t extent = step_ * pass_.extents().size() + cursor_ + 1;
  if (stopped_at_ == extent) return;
  stopped_at_ = extent;
  stops_[static_cast<size_t>(bound)].fetch_add(1, std::memory_order_relaxed);
}

bool WeightStream::MayAdmit(uint32_t extent) {
  if (paused_.load() || step_ > allowed_step_.load()) {
    stop_times_.Close(NowNs(Clock::kWall));  // It is not the ring or the depth that stops it.
    return false;
  }
  if (outstanding_[extent].load(std::memory_order_acquire)) return false;
  const size_t layer = pass_.ProductOf(pass_.extents()[extent]).layer;
  if (depth_ != 0 && step_ * (layers_ + 1) + layer >= reached_.load() + depth_) {
    NoteStop(Bound::kByDepth);
    return false;
  }
  auto place = ring_.Allocate(reader_.BufferBytes(pass_.extents()[extent].extent));
  if (!place) {
    NoteStop(Bound::kByRing);
    return false;
  }
  if (stopped_at_ != 0) stop_times_.Close(NowNs(Clock::kWall));
  admitted_[extent] = std::move(*place);
  return true;
}

void WeightStream::Count(uint32_t extent) {
  const io::Extent& bytes = pass_.extents()[extent].extent;
  const bool is_head = pass_.ProductOf(pass_.extents()[extent]).role == Role::kHead;
  const std::lock_guard lock(traffic_mutex_);
  (is_head ? head_ : trunk_)[step_ % 2].Add({bytes.bytes, reader_.BufferBytes(bytes), 1});
}

void WeightStream::Admit(const std::function<void(uint32_t)>& emit) {
  const auto extents = static_cast<uint32_t>(pass_.extents().size());
  if (first_streamed_ == extents) return;
  while (MayAdmit(cursor_)) {
    const uint32_t extent = cursor_;
    if (extent == first_streamed_) {
      const std::lock_guard lock(traffic_mutex_);
      trunk_[step_ % 2] = head_[step_ % 2] = {};
    }
    outstanding_[extent].store(true, std::memory_order_release);
    Count(extent);
    cursor_ = NextStreamed(extent + 1);
    if (cursor_ == first_streamed_) ++step_;
    emit(extent);
  }
}

void WeightStream::Read(uint32_t extent, std::function<void()> done) {
  reading_.fetch_add(1, std::memory_order_relaxed);
  reader_.Read(pass_.extents()[extent].extent, std::move(admitted_[extent]), io::ReadClass::kTrunk,
               [this, extent, done = std::move(done)](Result<BufferRef> bytes) {
                 Keep(extent, std::move(bytes));
                 reading_.fetch_sub(1, std::memory_order_relaxed);
                 done();
               });
}

void WeightStream::Keep(uint32_t extent, Result<BufferRef> bytes) {
  if (bytes) {
    held_[extent] = std::move(bytes).value();
    return;
  }
  const Product& product = pass_.ProductOf(pass_.extents()[extent]);
  failed_[extent] = std::make_unique<Error>(std::move(bytes).error());
  failed_[extent]->where = fmt::format("layer {}, {}", product.layer, RoleName(product.role));
}

std::optional<BufferRef> WeightStream::TakeStored(uint32_t extent) {
  if (failed_[extent]) return std::nullopt;
  BufferRef stored = std::move(held_[extent]);
  held_[extent].reset();
  return stored;
}

Result<BufferRef> WeightStream::Take(uint32_t extent) {
  if (IsPinned(extent)) return held_[extent];
  BufferRef bytes = std::move(held_[extent]);
  held_[extent].reset();
  const std::unique_ptr<Error> error = std::move(failed_[extent]);
  outstanding_[extent].store(false, std::memory_order_release);
  if (error) return std::move(*error);
  return bytes;
}

std::optional<BufferRef> WeightStream::Peek(uint32_t extent) const {
  if (!held_[extent]) return std::nullopt;
  return held_[extent];
}

Traffic WeightStream::trunk(uint64_t step) const {
  const std::lock_guard lock(traffic_mutex_);
  return trunk_[step % 2];
}

Traffic WeightStream::head(uint64_t step) const {
  const std::lock_guard lock(traffic_mutex_);
  return head_[step % 2];
}

void WeightStream::Drop() {
  for (uint32_t i = 0; i < held_.size(); ++i) {
    if (pinned_[i]) continue;
    held_[i].reset();
    failed_[i].reset();
    admitted_[i] = MutableBuffer();
    outstanding_[i].store(false, std::memory_order_release);
  }
}

void WeightStream::Restart(uint64_t step) {
  step_ = step;
  cursor_ = first_streamed_;
}

}  // namespace penstock::k3
